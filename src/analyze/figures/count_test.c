#include "analyze/figures/count_test.h"

#include <float.h>
#include <math.h>

#define FEW	       1000 /* counts up to that take the binomial; beyond, both agree to 1 % of p */
#define FRACTION_STEPS 300  /* the continued fraction needs about sqrt(FEW) of them */

double count_test_two_sided(double z)
{
	return erfc(fabs(z) / M_SQRT2);
}

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

/* I_x(a, b), the regularised incomplete beta function; its limits where a or b is 0. */
static double incomplete_beta(double x, double a, double b)
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

/* P(X >= at) - P(X = at)/2 of a binomial X of `at` + `others` tries, each with that chance; 0 <=
 * at, 0 <= others, 0 < chance < 1. */
static double upper_mid_p(double at, double others, double chance)
{
	/* P(X >= at) = I(at, others + 1), P(X > at) = I(at + 1, others) */
	return (incomplete_beta(chance, at, others + 1) + incomplete_beta(chance, at + 1, others)) /
	       2;
}

double count_test_p(double after, double before, double ratio)
{
	if (after + before <= 0)
		return 1;
	if (after + before > FEW)
		return count_test_two_sided(2 *
					    (sqrt(after + 0.375) - sqrt(ratio * (before + 0.375))) /
					    sqrt(1 + ratio));
	double chance = ratio / (1 + ratio);
	/* each tail by itself: 1 - p would leave nothing of a small one */
	double above = upper_mid_p(after, before, chance);
	double below = upper_mid_p(before, after, 1 / (1 + ratio));
	return fmin(1, 2 * fmin(above, below));
}
