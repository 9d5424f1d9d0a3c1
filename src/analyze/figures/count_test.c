#include "analyze/figures/count_test.h"

#include <math.h>

#include "base/incomplete_beta.h"

#define FEW 1000 /* counts up to that take the binomial; beyond, both agree to 1 % of p */

double count_test_two_sided(double z)
{
	return erfc(fabs(z) / M_SQRT2);
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
