/*
 * run_trend - whether the values of runs that came one after the other rise or fall with their
 * number, and whether neighbours are alike. Both are tests of ranks, so no distribution is assumed;
 * where either says yes the runs are not independent, and what is made of them as if they were, the
 * interval of their mean, is too short.
 */
#pragma once

#include <stddef.h>

struct run_trend {
	/* Kendall's tau of value and number, -1 to 1 (tau-b, where values are equal); above 0 when
	 * they rise. NAN below 5 runs, which cannot show it, and where all are equal. */
	double tau;
	double tau_p; /* two-sided (Mann 1945) */
	/* How alike neighbours are: 1 - v/2, v the rank version of von Neumann's ratio (Bartels
	 * 1982); 0 when independent, near 1 when neighbours are alike. NAN below 10 runs. */
	double likeness;
	double likeness_p; /* one-sided: of neighbours at least that alike */
};

/* Of n values, at most RUN_ROUNDS_MOST and none NAN, in the order of the runs. Returns 0 or
 * -ENOMEM. */
int run_trend_of(const double *values, size_t n, struct run_trend *out);
