#include "base/incomplete_gamma.h"

#include <float.h>
#include <math.h>

/* Both expansions need about the square root of a of them. */
#define STEPS 10000

/* x^a exp(-x) / Gamma(a) */
static double front_of(double a, double x)
{
	int sign; /* of the gamma function: positive here */
	return exp(a * log(x) - x - lgamma_r(a, &sign));
}

/* 1 - Q by its series, Abramowitz and Stegun 6.5.29: of positive terms, for x below a + 1. */
static double lower_series(double a, double x)
{
	double term = 1 / a, sum = term;
	for (int i = 1; i <= STEPS; i++) {
		term *= x / (a + i);
		sum += term;
		if (term < sum * DBL_EPSILON / 4)
			break;
	}
	return front_of(a, x) * sum;
}

/* Q by the continued fraction, Abramowitz and Stegun 6.5.31 (even part), by Lentz' method; x is a +
 * 1 or more, so no denominator is 0. */
static double upper_fraction(double a, double x)
{
	double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, result = d;
	for (int i = 1; i <= STEPS; i++) {
		double factor = i * (a - i);
		b += 2;
		d = 1 / (factor * d + b);
		c = b + factor / c;
		result *= c * d;
		if (fabs(c * d - 1) < 4 * DBL_EPSILON)
			break;
	}
	return front_of(a, x) * result;
}

double incomplete_gamma_upper(double a, double x)
{
	if (x <= 0)
		return 1;
	if (a <= 0)
		return 0;
	return x < a + 1 ? 1 - lower_series(a, x) : upper_fraction(a, x);
}

double chi_square_upper(double x, double degrees)
{
	return incomplete_gamma_upper(degrees / 2, x / 2);
}
