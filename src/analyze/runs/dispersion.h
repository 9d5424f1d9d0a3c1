/*
 * dispersion - whether one count scatters over several runs as counting alone makes it, or more.
 * Formulas, their sources and what was simulated are in docs/methods.md, "Spread over runs".
 *
 * When nothing but chance differs between the runs, what a run counts is in proportion to an
 * exposure that is known: 1, its seconds, its total. All functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What one run has of a row. */
struct dispersion_run {
	double value, squares;	     /* the estimate, and its squares (docs/methods.md) */
	double whole, whole_squares; /* of the run's event: its samples' mean weight */
	double exposure;	     /* above 0 */
};

/* Is the exposure the count of samples that the row's are among, the run's total? */
enum dispersion_exposure {
	DISPERSION_APART,  /* it has no error, or one of its own */
	DISPERSION_WITHIN, /* it is `whole`: the errors of part and whole go together */
};

struct dispersion {
	double statistic; /* Pearson's X^2 of the runs' counts */
	double degrees;	  /* of freedom: runs less 1 */
	double samples;	  /* effective ones, of all runs: what the statistic rests on */
	double each;	  /* of them, expected in a run: the mean */
	bool known;	  /* false: no squares, so no error is known, and all else is 0 */
};

/* Of one row in two runs or more. A row without samples has a statistic of 0. */
struct dispersion dispersion_of(const struct dispersion_run *runs, size_t count,
				enum dispersion_exposure exposure);

/* A row to test, and its p. */
struct dispersion_case {
	struct dispersion of;
	double p;
};

/*
 * Chances of at least their statistics when all runs are equal, given the samples of them all:
 * exact but for the simulation's own error (10 in each hundred of p at most, one standard
 * deviation) where few samples are expected in a run, else chi-square's. Never below the chance of
 * a single run's count that would make the statistic by itself. The same row has the same p,
 * whatever other rows there are. 1 where nothing is known or counted, and for one run.
 *
 * The rows are of these runs, of which exposure, `whole` and its squares are read. All share their
 * draws, so that time is bounded: 80 million samples are drawn at most (a second), and each row is
 * looked at in 20,000 draws at most. Returns 0, or -ENOMEM with p untouched.
 */
int dispersion_test_all(const struct dispersion_run *runs, size_t count,
			struct dispersion_case *cases, size_t case_count);
/* The same of one row. */
int dispersion_test(const struct dispersion_run *runs, size_t count,
		    const struct dispersion *dispersion, double *p);
