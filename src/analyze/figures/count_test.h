/*
 * count_test - are two counts of independent happenings (Poisson) of one rate?
 * Counts may be fractions: effective numbers of samples. Pure functions;
 * formulas and sources are in docs/methods.md, "Differences".
 */
#pragma once

#define COUNT_TEST_Z_95 1.959963984540054 /* P(|N(0,1)| <= it) = 0.95 */

/* P(|N(0,1)| >= |z|) */
double count_test_two_sided(double z);
/*
 * Chance of two counts at least that far from `ratio`, when the mean of `after`
 * is `ratio` times that of `before`: two-sided mid-p of the conditional binomial
 * test for few, the difference of Anscombe's square roots for many.
 */
double count_test_p(double after, double before, double ratio);
