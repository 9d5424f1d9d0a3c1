/*
 * run_summary - one event of one command over its runs: where they lie, how they scatter, which of
 * them stand out, and whether they hang together. Formulas and sources are in docs/methods.md,
 * "Runs".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/figures/interval.h"
#include "analyze/runs/run_trend.h"
#include "analyze/runs/run_values.h"

struct error;

/* Among fewer runs none is called an outlier: it is the fewest that the score was tried with, and
 * of 10 normal runs it already flags one in 13 % of experiments, of 5 in 20 %. */
#define RUN_OUTLIERS_LEAST 10
/* From this chance on a trend, or the likeness of neighbours, counts as shown. */
#define RUN_TREND_SHOWN 0.01

struct run_summary {
	size_t counted; /* runs with a value; every figure below is of these */
	size_t absent;	/* runs without */
	/* With Student's 95 % interval from 2 runs on, a value alone with 1, absent with none. It
	 * is an interval of the mean of such runs only where they are independent (see trend). */
	struct estimate mean;
	double deviation; /* standard deviation of the runs, by n - 1; NAN below 2 */
	double median, least, most;
	double median_deviation; /* the median of |value - median|; NAN below 2 */
	bool outliers_judged;	 /* from RUN_OUTLIERS_LEAST runs on */
	size_t outliers;	 /* they stay in all other figures */
	struct run_trend trend;
};

/*
 * Of command number `command`. `outlier`, when not NULL, has room for values->rounds and gets which
 * runs are outliers. Returns 0, or -EINVAL when a value is infinite or there are more than
 * RUN_ROUNDS_MOST rounds, or -ENOMEM, and fills *err.
 */
int run_summary_of(const struct run_values *values, size_t command, bool *outlier,
		   struct run_summary *out, struct error *err);

/* Whether the runs are seen not to be independent of their order, by either test of their trend. */
bool run_summary_hangs_together(const struct run_summary *summary);
