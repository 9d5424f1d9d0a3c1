#include "base/incomplete_beta.h"

#include <float.h>
#include <math.h>

/* The continued fraction needs about the square root of a or b of them. */
#define FRACTION_STEPS 1000

/* Keeps Lentz' method from dividing by 0. */
static double not_zero(double x)
{
	return fabs(x) < DBL_MIN / DBL_EPSILON ? DBL_MIN / DBL_EPSILON : x;
}

/* The continued fraction of the incomplete beta function, Abramowitz and Stegun 26.5.8, by Lentz'
 * method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;
	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= c * d;
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		result *= c * d;
		if (fabs(c * d - 1) < 4 * DBL_EPSILON)
			break;
	}
	return result;
}

double incomplete_beta(double x, double a, double b)
{
	if (a <= 0)
		return 1;
	if (b <= 0)
		return 0;
	int sign; /* of gamma functions: all positive here */
	double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) +
			   a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}
