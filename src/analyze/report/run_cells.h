/*
 * run_cells - of each row of a report of marked runs (profile/runs.h), what each run has in it.
 *
 * It is made by counting the same samples again with a column an event and run, so a row is
 * the same row in both, whatever its view and filters. Reads the profile and resolver of the report
 * while it is made, and nothing later; time is that of the report, memory grows with rows, events
 * and runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"

struct run_cells {
	size_t runs, rows;
	size_t first, columns; /* of the report, that are kept: `first` and those behind it */
	struct cell *whole;    /* [(column - first) * runs + run]: what shares are of */
	struct cell *cells;    /* [(row number * columns + column - first) * runs + run] */
	bool *has;	       /* [(column - first) * runs + run]: that run counted the event */
};

#define RUN_CELLS_ALL SIZE_MAX

/*
 * Of runs 1 to `runs` of a report that was made with this resolver, all rows kept (no min_percent,
 * no limit), of one column or RUN_CELLS_ALL. Cells are those that rows show: with what was called,
 * in an inclusive view. Errors as report_new(); -EBADMSG also when the runs do not add up to the
 * report.
 */
int run_cells_init(struct run_cells *cells, const struct report *report, struct resolver *resolver,
		   size_t runs, size_t column, struct error *err);
void run_cells_release(struct run_cells *cells); /* for CLEANUP(); also right for a zeroed one */

/* Of run 0 to runs - 1, and a column that is kept. */
static inline const struct cell *
run_cells_of(const struct run_cells *cells, const struct report_row *row, size_t column, size_t run)
{
	size_t at = (size_t)row->number * cells->columns + column - cells->first;
	return &cells->cells[at * cells->runs + run];
}
static inline const struct cell *run_cells_whole(const struct run_cells *cells, size_t column,
						 size_t run)
{
	return &cells->whole[(column - cells->first) * cells->runs + run];
}
static inline bool run_cells_have(const struct run_cells *cells, size_t column, size_t run)
{
	return cells->has[(column - cells->first) * cells->runs + run];
}
