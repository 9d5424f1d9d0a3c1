/*
 * difference - what changed between two measurements of the same thing, and how
 * sure that is. `before` is the base, `after` what is compared with it. Formulas
 * and their sources are in docs/methods.md, "Differences". All functions are
 * pure; a figure that can't be had is absent, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/figures/interval.h"
#include "profile/profile.h"

/* What is taken to be the same on both sides. `before` is multiplied by a factor that makes it so.
 */
enum difference_base {
	DIFFERENCE_RAW,	     /* the work: nothing is scaled */
	DIFFERENCE_TOTAL,    /* the event's total; hides that everything became slower */
	DIFFERENCE_SECOND,   /* the time: rates */
	DIFFERENCE_EVENT,    /* the count of an event that stands for a unit of work */
	DIFFERENCE_FUNCTION, /* the cost of one function */
	DIFFERENCE_BASES,
};
extern const char *const difference_base_names[DIFFERENCE_BASES]; /* "raw", "total", ... */

struct difference_scale {
	enum difference_base base;
	double factor; /* of `before`; not positive: it can't be had, one side has none of it */
	/* the counts that the factor is the quotient of, with their errors; empty for raw and
	 * second, whose factors have none */
	struct cell before, after;
};

struct difference_scale difference_scale_raw(void);
/* The same of several runs a side: the work of one run. */
struct difference_scale difference_scale_runs(size_t before, size_t after);
struct difference_scale difference_scale_seconds(double before_s, double after_s);
/* The factor after / before of what DIFFERENCE_TOTAL, _EVENT and _FUNCTION count. */
struct difference_scale difference_scale_counts(enum difference_base base,
						const struct cell *before,
						const struct cell *after);

/* Which of a row's samples are among those that the scale counts: errors in common cancel. */
enum difference_overlap {
	DIFFERENCE_APART,  /* none, or not known: the wider interval */
	DIFFERENCE_WITHIN, /* all: the scale is the total of the row's event */
};

/* What is known of the errors of one side's counts that have no squares. */
enum difference_counts {
	DIFFERENCE_COUNTS_UNKNOWN, /* nothing: its differences are neither significant nor noise */
	DIFFERENCE_COUNTS_SAMPLES, /* they are numbers of samples, each of weight one */
	DIFFERENCE_COUNTS_EXACT,   /* they are exact, as an instrumenting tool counts */
};
/* What all rows of one event share. */
struct difference_event {
	struct difference_scale scale;
	struct cell before_whole, after_whole; /* what shares are of */
	enum difference_counts before_counts, after_counts;
	double step; /* of estimates in one event: event_scale_divisor(); 0 is 1 */
};

/* One row on both sides. */
struct cell_change {
	struct cell before, after;
};

enum difference_verdict {
	DIFFERENCE_NO_ERROR_KNOWN, /* not tested: p is NAN */
	DIFFERENCE_NOISE,	   /* may be chance */
	DIFFERENCE_SIGNIFICANT,
};
extern const char *const difference_verdict_names[]; /* "unknown", "noise", "significant" */

struct difference {
	struct cell before, after; /* as measured, not scaled */
	double before_scaled;
	struct estimate change;	      /* after - before_scaled */
	struct estimate change_ratio; /* change / before_scaled; absent when that is 0 */
	struct estimate before_share; /* of before_whole */
	struct estimate after_share;  /* of after_whole */
	struct estimate
		change_of_after_total; /* change / after_whole: FlameGraph's global percent / 100 */
	double p; /* chance of at least that change when nothing changed; NAN: no error known */
	enum difference_verdict verdict; /* of this one alone, at 5 %; see difference_judge() */
};

struct difference difference_of(const struct difference_event *event,
				const struct cell_change *cells, enum difference_overlap overlap);

/* How much runs of one thing differ, where the cells are sums over several of them. */
struct difference_noise {
	double factor;	/* the variance, as a multiple of what sampling makes it: 1 or more */
	double degrees; /* of freedom, that the factor is known by; INFINITY: for sure */
};
/* The same with that in its interval and verdict; NULL: sampling's error alone. The intervals of
 * shares stay those of sampling. */
struct difference difference_of_runs(const struct difference_event *event,
				     const struct cell_change *cells,
				     enum difference_overlap overlap,
				     const struct difference_noise *noise);

/* Of the changes that are shown as significant, at most this share is expected to be chance. */
#define DIFFERENCE_FALSE_DISCOVERIES 0.05

/*
 * Of many tests at 5 % one in 20 finds a change where there is none. Stores in
 * q[i] the least false discovery rate at which test i is significant (Benjamini
 * and Hochberg 1995); NAN where p[i] is. p and q may be the same array. Returns 0
 * or -ENOMEM.
 */
int difference_control(const double *p, size_t count, double *q);
/* Sets the verdict by q instead of by the row's own p. */
void difference_judge(struct difference *difference, double q);

/*
 * A change of cycles as the sum of two: what more (or fewer) instructions cost
 * at the mean CPI of both sides, and what a higher (or lower) CPI costs at their
 * mean number of instructions. Both absent where a side lacks cycles or
 * instructions: its CPI is not known.
 */
struct difference_split {
	struct estimate instructions, cpi; /* in the unit of cycles; they add up to the change */
	struct estimate before_cpi, after_cpi; /* quotients of estimates, in the cells' decimals */
	double instructions_p, cpi_p;	       /* as difference.p */
};
struct difference_split difference_split_of(const struct difference_event *cycles,
					    const struct cell_change *of_cycles,
					    const struct cell_change *of_instructions,
					    enum ratio_samples samples);

/* The same over several runs: each event with the noise of its own row. */
struct difference_split difference_split_of_runs(const struct difference_event *cycles,
						 const struct cell_change *of_cycles,
						 const struct cell_change *of_instructions,
						 enum ratio_samples samples,
						 const struct difference_noise *cycles_noise,
						 const struct difference_noise *instructions_noise);

/* The least ratio above 1 by which something with so many samples before and, unchanged, after has
 * to change for a test at 5 % to find it in 80 of 100 comparisons; INFINITY without samples. */
double difference_least_ratio(double before_samples, double after_samples);
