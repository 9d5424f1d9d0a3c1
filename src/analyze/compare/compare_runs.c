#include "analyze/compare/compare_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/runs/dispersion.h"
#include "base/cleanup.h"
#include "base/error.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing runs");
}

/* ---- which runs there are */

static const struct report *report_of(const struct comparison *comparison, size_t side)
{
	return side ? comparison->after : comparison->before;
}

static size_t column_on(const struct comparison *comparison, size_t column, size_t side)
{
	return side ? comparison->columns[column].after : comparison->columns[column].before;
}

bool compare_runs_have(const struct comparison *comparison, size_t side, size_t column, size_t run)
{
	return !compare_runs_known(comparison) ||
	       run_cells_have(&comparison->run_cells[side], column_on(comparison, column, side),
			      run);
}

/* What was not counted is not 0, so a run is in the figures of the events that it counted. */
static int note_missing(struct comparison *comparison, size_t side, size_t column, size_t first)
{
	size_t at = column_on(comparison, column, side);
	struct span name = report_of(comparison, side)->columns.list[at].name;
	size_t missing = comparison->side_runs[side] - comparison->columns[column].runs[side];
	const char *text = name.size ? (const char *)name.data : "";
	int size = (int)(name.size < 80 ? name.size : 80);
	const char *which = side ? "after" : "base";
	return missing == 1
		       ? compare_note(comparison,
				      "run %zu of the %s side did not count %.*s: its figures "
				      "are of the other runs",
				      first + 1, which, size, text)
		       : compare_note(comparison,
				      "%zu runs of the %s side, run %zu the first of them, did "
				      "not count %.*s: its figures are of the other runs",
				      missing, which, first + 1, size, text);
}

static int count_runs(struct comparison *comparison, size_t side, size_t column)
{
	size_t all = comparison->side_runs[side], *runs = comparison->columns[column].runs;
	size_t first = all; /* that did not count it */
	for (size_t run = 0; run < all; run++) {
		bool has = compare_runs_have(comparison, side, column, run);
		runs[side] += has;
		first = !has && first == all ? run : first;
	}
	return first == all ? 0 : note_missing(comparison, side, column, first);
}

static int count_all(struct comparison *comparison, struct error *err)
{
	for (size_t column = 0; column < comparison->column_count; column++)
		for (size_t side = 0; side < 2; side++)
			if (count_runs(comparison, side, column) < 0)
				return out_of_memory(err);
	return 0;
}

int compare_runs_init(struct comparison *comparison, const struct compare_side *before,
		      const struct compare_side *after, struct error *err)
{
	const struct compare_side *sides[] = { before, after };
	struct report *reports[] = { comparison->before, comparison->after };
	for (size_t s = 0; s < 2; s++)
		comparison->side_runs[s] = sides[s]->runs ? sides[s]->runs : 1;
	for (size_t s = 0; compare_runs_known(comparison) && s < 2; s++) {
		int ret = run_cells_init(&comparison->run_cells[s], reports[s], sides[s]->resolver,
					 comparison->side_runs[s], RUN_CELLS_ALL, err);
		if (ret < 0)
			return ret;
	}
	return count_all(comparison, err);
}

void compare_runs_release(struct comparison *comparison)
{
	for (size_t s = 0; s < 2; s++) {
		run_cells_release(&comparison->run_cells[s]);
		free(comparison->exposures[s]);
		free(comparison->work[s]);
	}
}

/* ---- exposures */

/* Whether the run is in the figures of any event. */
static bool is_used(const struct comparison *comparison, size_t side, size_t run)
{
	for (size_t column = 0; column < comparison->column_count; column++)
		if (compare_runs_have(comparison, side, column, run))
			return true;
	return false;
}

static int refuse_run(const struct comparison *comparison, size_t side, size_t run,
		      struct error *err)
{
	const char *which = side ? "after" : "base";
	if (comparison->base == DIFFERENCE_FUNCTION &&
	    !compare_runs_have(comparison, side, comparison->main, run)) {
		size_t at = column_on(comparison, comparison->main, side);
		struct span name = report_of(comparison, side)->columns.list[at].name;
		return error_set(err, -ENODATA,
				 "run %zu of the %s side did not count %.*s, which --per %s needs",
				 run + 1, which, (int)(name.size < 80 ? name.size : 80),
				 name.size ? (const char *)name.data : "", comparison->constant);
	}
	return error_set(err, -ENODATA, "run %zu of the %s side has no %s", run + 1, which,
			 comparison->base == DIFFERENCE_SECOND ? "duration"
			 : comparison->constant		       ? comparison->constant
							       : "samples");
}

/* What the base counts, by run: seconds, work of an event, the cost of a procedure. */
static int fill_exposures(struct comparison *comparison, size_t side, struct error *err)
{
	size_t runs = comparison->side_runs[side];
	const struct cell *work = comparison->work[side];
	double *exposures = calloc(runs, sizeof(*exposures));
	comparison->exposures[side] = exposures;
	if (!exposures)
		return out_of_memory(err);
	for (size_t run = 0; run < runs; run++) {
		exposures[run] = work ? (double)work[run].estimate : 1;
		if (!(exposures[run] > 0) && is_used(comparison, side, run))
			return refuse_run(comparison, side, run, err);
	}
	return 0;
}

/* ---- scatter */

static double exposure_of(const struct comparison *comparison, size_t side, size_t column,
			  size_t run)
{
	if (comparison->base != DIFFERENCE_TOTAL)
		return comparison->exposures[side][run];
	const struct cell *whole = run_cells_whole(&comparison->run_cells[side],
						   column_on(comparison, column, side), run);
	return (double)whole->estimate;
}

/* Squares of imported counts that are said to be samples: one each. */
static double squares_of(const struct comparison *comparison, size_t side, size_t column,
			 const struct cell *cell)
{
	const struct difference_event *event = &comparison->columns[column].event;
	enum difference_counts counts = side ? event->after_counts : event->before_counts;
	if (cell->squares || counts != DIFFERENCE_COUNTS_SAMPLES)
		return (double)cell->squares;
	const struct event_columns *columns = &report_of(comparison, side)->columns;
	return (double)cell->estimate *
	       event_column_divisor(&columns->list[column_on(comparison, column, side)]);
}

/* Samples of several runs. */
struct run_samples {
	double samples;
	size_t runs;
};

/* Adds the scatter of one side's runs, which have these cells. A side that has none of the row says
 * nothing of how its runs scatter. */
static void add_side(const struct comparison *comparison, size_t side, size_t column,
		     const struct cell *cells, struct dispersion_run *runs,
		     struct run_scatter *scatter, struct run_samples *all)
{
	size_t at = column_on(comparison, column, side), count = 0;
	for (size_t run = 0; run < comparison->side_runs[side]; run++) {
		const struct cell *whole = run_cells_whole(&comparison->run_cells[side], at, run);
		double exposure = exposure_of(comparison, side, column, run);
		if (!run_cells_have(&comparison->run_cells[side], at, run) || !(exposure > 0))
			continue;
		runs[count++] = (struct dispersion_run){
			.value = (double)cells[run].estimate,
			.squares = squares_of(comparison, side, column, &cells[run]),
			.whole = (double)whole->estimate,
			.whole_squares = squares_of(comparison, side, column, whole),
			.exposure = exposure
		};
	}
	struct dispersion of = dispersion_of(
		runs, count,
		comparison->base == DIFFERENCE_TOTAL ? DISPERSION_WITHIN : DISPERSION_APART);
	if (!(of.samples > 0))
		return;
	scatter->statistic += of.statistic;
	scatter->degrees += of.degrees;
	all->samples += of.samples;
	all->runs += count;
}

/* What runs have in the rows of the groups; NULL groups: in all. */
struct subject {
	const struct match_group *const *groups;
	size_t count;
};

static void sum_runs(const struct comparison *comparison, const struct subject *subject,
		     size_t side, size_t column, struct cell *cells)
{
	const struct run_cells *of = &comparison->run_cells[side];
	size_t at = column_on(comparison, column, side);
	for (size_t run = 0; run < of->runs; run++) {
		cells[run] = subject->groups ? (struct cell){ 0 } : *run_cells_whole(of, at, run);
		for (size_t g = 0; subject->groups && g < subject->count; g++) {
			const struct match_group *group = subject->groups[g];
			const uint32_t *rows = side ? group->after : group->before;
			size_t count = side ? group->after_count : group->before_count;
			for (size_t i = 0; i < count; i++)
				cell_add(&cells[run],
					 run_cells_of(of,
						      &report_of(comparison, side)->rows[rows[i]],
						      at, run));
		}
	}
}

static size_t most_runs(const struct comparison *comparison)
{
	return comparison->side_runs[0] > comparison->side_runs[1] ? comparison->side_runs[0]
								   : comparison->side_runs[1];
}

int compare_runs_scatter(const struct comparison *comparison, size_t column,
			 const struct cell *const cells[2], struct run_scatter *scatter)
{
	CLEANUP(free_pointer)
	struct dispersion_run *runs = calloc(most_runs(comparison), sizeof(*runs));
	struct run_samples all = { 0 };
	if (!runs)
		return -ENOMEM;
	*scatter = (struct run_scatter){ 0 };
	for (size_t side = 0; side < 2; side++)
		add_side(comparison, side, column, cells[side], runs, scatter, &all);
	scatter->each = all.runs ? all.samples / (double)all.runs : 0;
	return 0;
}

static int scatter_of(const struct comparison *comparison, const struct subject *subject,
		      size_t column, struct run_scatter *scatter)
{
	size_t most = most_runs(comparison);
	CLEANUP(free_pointer) struct cell *cells = calloc(2 * most, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	const struct cell *const sides[2] = { cells, cells + most };
	for (size_t side = 0; side < 2; side++)
		sum_runs(comparison, subject, side, column, cells + side * most);
	return compare_runs_scatter(comparison, column, sides, scatter);
}

int compare_runs_noise_of(const struct comparison *comparison,
			  const struct match_group *const *groups, size_t count, size_t column,
			  struct difference_noise *noise)
{
	const struct subject subject = { groups, count };
	struct run_scatter scatter;
	int ret = scatter_of(comparison, &subject, column, &scatter);
	if (ret == 0)
		*noise = run_noise_of(&scatter, NAN);
	return ret;
}

/* ---- all rows */

static int judge_column(struct comparison *comparison, size_t column, struct run_scatter *scatters,
			double *scratch)
{
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct match_group *group = comparison->all[i].group;
		const struct subject subject = { &group, 1 };
		int ret = scatter_of(comparison, &subject, column, &scatters[i]);
		if (ret < 0)
			return ret;
	}
	struct compared_column *of = &comparison->columns[column];
	of->usual_noise = run_noise_usual(scatters, comparison->row_count, scratch);
	for (size_t i = 0; i < comparison->row_count; i++)
		comparison->all[i].noises[column] = run_noise_of(&scatters[i], of->usual_noise);
	return compare_runs_noise_of(comparison, NULL, 0, column, &of->whole_noise);
}

static int allocate_noises(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->row_count; i++) {
		struct compared_row *row = &comparison->all[i];
		row->noises = arena_allocate(&comparison->arena,
					     comparison->column_count * sizeof(*row->noises));
		if (!row->noises)
			return -ENOMEM;
	}
	return 0;
}

int compare_runs_judge(struct comparison *comparison, struct error *err)
{
	if (!compare_runs_known(comparison))
		return 0;
	for (size_t s = 0; comparison->base != DIFFERENCE_TOTAL && s < 2; s++) {
		int ret = fill_exposures(comparison, s, err);
		if (ret < 0)
			return ret;
	}
	CLEANUP(free_pointer)
	struct run_scatter *scatters = calloc(comparison->row_count + 1, sizeof(*scatters));
	CLEANUP(free_pointer)
	double *scratch = calloc(2 * comparison->row_count + 1, sizeof(*scratch));
	if (!scatters || !scratch || allocate_noises(comparison) < 0)
		return out_of_memory(err);
	for (size_t c = 0; c < comparison->column_count; c++)
		if (judge_column(comparison, c, scatters, scratch) < 0)
			return out_of_memory(err);
	return 0;
}
