/*
 * run_comparison - one event of two commands that ran in the same rounds: by how much the second
 * differs from the first, how sure that is, and what difference would have been found. Formulas,
 * their sources and what was simulated are in docs/methods.md, "Runs".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/figures/interval.h"
#include "analyze/runs/run_values.h"

struct error;

/* Of intervals and verdicts; an interval's own is that or a little more. */
#define RUN_LEVEL 0.95

enum run_scale {
	RUN_RATIO,	/* all values are above 0 */
	RUN_DIFFERENCE, /* some are not, so ratios say nothing */
};

enum run_verdict {
	RUN_TOO_FEW,   /* no interval of that level from so few rounds; see run_least_rounds() */
	RUN_NOT_FOUND, /* the interval holds 0: no difference found, and none beyond its ends */
	RUN_MAYBE,     /* found when judged alone, not among all that is judged (q) */
	RUN_LESS,      /* than the first command */
	RUN_MORE,
};

struct run_comparison {
	size_t rounds;	 /* in which both commands have a value */
	size_t left_out; /* rounds in which one or both have none */
	enum run_scale scale;
	/* of the second command against the first: the ratio less 1, or the difference in the
	 * event's unit. Absent without rounds; a value alone in too few. Its level is below. */
	struct estimate change;
	double level; /* of the interval; in too few rounds the highest that they can reach */
	double p;     /* chance of such a change when nothing differs; an upper bound; 1 at most */
	double q;     /* least false discovery rate; p until run_comparisons_judge() */
	enum run_verdict verdict; /* by q */
	/* The true change, above 0 and in the unit of `change`, that 80 of 100 such experiments
	 * would find; NAN in too few rounds. 0: every round said the same. */
	double detectable;
};

/*
 * Compares `second` with `first`, two numbers of commands. Rounds in which either is absent are
 * left out, and counted. Returns 0, or -EINVAL when a value is infinite or there are more than
 * RUN_ROUNDS_MOST rounds, or -ENOMEM, and fills *err.
 */
int run_compare(const struct run_values *values, size_t first, size_t second,
		struct run_comparison *out, struct error *err);

/*
 * Judges comparisons that belong together, so that of what they find 5 % are expected to be
 * chance: sets q and verdicts. The event that the question is about is a family of its own, or its
 * verdict would hang on how many others were counted; all others are one. Returns 0 or -ENOMEM.
 */
int run_comparisons_judge(struct run_comparison *list, size_t count, struct error *err);

/* The chance that such an experiment finds a true change (in the unit of `change`; a ratio is above
 * -1); NAN in too few rounds. */
double run_power(const struct run_comparison *comparison, double true_change);

/* With fewer rounds one wild run can hide any difference. */
#define RUN_ROUNDS_ROBUST 12

/* The fewest rounds in which one of `tests` (1 or more) that are judged together can be found,
 * though no other is. */
size_t run_least_rounds(size_t tests);
