/*
 * signed_rank - where the middle of paired differences is: Hodges and Lehmann's estimate with the
 * interval that belongs to Wilcoxon's signed-rank test.
 *
 * Under the hypothesis that nothing differs each difference has either sign with the same chance,
 * independently of the others. Where the order within the pairs was drawn at random that holds by
 * construction, whatever the distribution and however the pairs depend on each other. Formulas and
 * sources are in docs/methods.md, "Runs".
 */
#pragma once

#include <stddef.h>

/* Up to that many differences the distribution is exact, beyond it is the normal approximation with
 * continuity correction, off by less than 0.0005 in tails below 0.06. */
#define SIGNED_RANK_EXACT 50

/* P(W <= sum), W the sum of the ranks of the positive ones of n differences. */
double signed_rank_lower(size_t n, double sum);
/* The largest whole number w with 2 P(W <= w) <= 1 - level; -1 where even 0 is too likely. */
double signed_rank_critical(size_t n, double level);
/* The fewest differences of which 2 P(W <= 0) = 2^(1 - n) is at most 1 - level, 0 < level < 1. */
size_t signed_rank_least(double level);

struct signed_rank {
	double estimate;  /* median of the means of all pairs of differences, with themselves too */
	double low, high; /* NAN where so few differences have no interval of that level */
	double level;	  /* that the interval has: at least the one asked for */
	double p;	  /* two-sided, of no difference; at most 1 - level where the interval
			   * leaves out 0, and only there */
};

/*
 * Of n differences, 1 to RUN_ROUNDS_MOST, all finite. Ties, and differences of 0, take the most
 * unfavourable order: the interval is closed and p is an upper bound. Returns 0, or -ENOMEM.
 * n log n steps.
 */
int signed_rank_of(const double *differences, size_t n, double level, struct signed_rank *out);
