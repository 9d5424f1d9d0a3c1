/*
 * compare_runs - of a comparison of several runs a side: what each run has in each row, what a
 * run's cost is in proportion to, and how much more the runs of a row scatter than counting alone
 * makes them (docs/methods.md, "Runs against runs"). With one run a side there is nothing of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/compare/comparison.h"
#include "analyze/runs/run_noise.h"

/* Counts the runs apart, where a side has several: fills comparison->side_runs, `run_cells` and the
 * `runs` of each column, and notes which runs did not count it. Errors as report_new(). */
int compare_runs_init(struct comparison *comparison, const struct compare_side *before,
		      const struct compare_side *after, struct error *err);
void compare_runs_release(struct comparison *comparison);

/* Whether there are several runs, so that rows have a noise. */
static inline bool compare_runs_known(const struct comparison *comparison)
{
	return comparison->side_runs[0] + comparison->side_runs[1] > 2;
}

/* Whether that run of a side (0: before) counted the event of a compared column. */
bool compare_runs_have(const struct comparison *comparison, size_t side, size_t column, size_t run);

/*
 * Fills comparison->exposures from the base, which is chosen, and row->noises of all rows, and the
 * wholes' and columns' noise. `noises` of rows are allocated here. -ENODATA when a run lacks what
 * the base needs, or -ENOMEM, with *err.
 */
int compare_runs_judge(struct comparison *comparison, struct error *err);

/* How the runs scatter that have these cells (before and after, by run) of a compared column. 0 or
 * -ENOMEM. */
int compare_runs_scatter(const struct comparison *comparison, size_t column,
			 const struct cell *const cells[2], struct run_scatter *scatter);

/* The noise of several rows together, by themselves. 0 or -ENOMEM. */
int compare_runs_noise_of(const struct comparison *comparison,
			  const struct match_group *const *groups, size_t count, size_t column,
			  struct difference_noise *noise);
