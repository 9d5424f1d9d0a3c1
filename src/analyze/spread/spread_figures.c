#include "analyze/spread/spread_private.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/compare_scope.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/runs.h"

/* ---- the base */

/* Durations, and whether each run of a run's recordings had its time chosen. */
static void read_sources(struct spread *spread)
{
	const struct profile *profile = spread->report->profile;
	size_t count = profile_table(profile, PROFILE_SOURCE)->count;
	for (size_t run = 0; run < spread->run_count; run++)
		spread->runs[run].time_chosen = true;
	for (size_t row = 0; row < count; row++) {
		uint64_t run = profile_source_run(profile, row);
		if (run < 1 || run > spread->run_count)
			continue;
		struct spread_run *of = &spread->runs[run - 1];
		const struct scope alone = { .first = profile_source(profile, row),
					     .has_source = true,
					     .duration_ns =
						     profile_source(profile, row).duration_ns };
		of->time_chosen &= compare_time_was_chosen(&alone);
		sum_add(&of->duration_ns, alone.duration_ns);
	}
	for (size_t run = 0; run < spread->run_count; run++) {
		struct spread_run *of = &spread->runs[run];
		if (sum_passed(of->duration_ns))
			of->duration_ns = 0;
		of->time_chosen &= of->duration_ns > 0;
	}
}

/* Of several recordings for a chosen time the loads differ; of commands that ran to their end the
 * work is the same. */
static enum spread_base choose(const struct spread *spread)
{
	size_t chosen = 0;
	for (size_t run = 0; run < spread->run_count; run++)
		chosen += spread->runs[run].used && spread->runs[run].time_chosen;
	return chosen == spread->used_runs ? SPREAD_TOTAL : SPREAD_RAW;
}

static double exposure_of(const struct spread *spread, const struct spread_run *run)
{
	return spread->base == SPREAD_TOTAL    ? (double)run->whole.estimate
	       : spread->base == SPREAD_SECOND ? (double)run->duration_ns
					       : 1;
}

/* Leaves out what has no samples, where it is shares that are compared: a share of nothing is not
 * 0. 0 or -ENOMEM. */
static int leave_out_idle(struct spread *spread)
{
	for (size_t run = 0; run < spread->run_count; run++) {
		struct spread_run *of = &spread->runs[run];
		if (!of->used || of->whole.estimate)
			continue;
		of->used = false;
		spread->used_runs--;
		if (spread_note(spread, "run %zu has no samples, and so no shares: it is left out",
				run + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int fill_exposures(struct spread *spread, struct error *err)
{
	double sum = 0;
	for (size_t run = 0; run < spread->run_count; run++) {
		struct spread_run *of = &spread->runs[run];
		of->exposure = of->used ? exposure_of(spread, of) : NAN;
		if (of->used && !(of->exposure > 0))
			return error_set(err, -ENODATA,
					 "no duration is known of run %zu, which --per second "
					 "needs",
					 run + 1);
		sum += of->used ? of->exposure : 0;
	}
	for (size_t run = 0; run < spread->run_count; run++)
		spread->runs[run].exposure *= (double)spread->used_runs / sum;
	return 0;
}

/* Which runs counted the event. 0 or -ENOMEM. */
static int find_counted(struct spread *spread)
{
	for (size_t run = 0; run < spread->run_count; run++) {
		struct spread_run *of = &spread->runs[run];
		of->counted = of->used = run_cells_have(&spread->cells, spread->column, run);
		of->whole = *run_cells_whole(&spread->cells, spread->column, run);
		spread->used_runs += of->used;
		if (!of->counted &&
		    spread_note(spread, "run %zu did not count the event: it is left out",
				run + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

int spread_choose_base(struct spread *spread, struct error *err)
{
	if (find_counted(spread) < 0)
		return error_set(err, -ENOMEM, "out of memory comparing runs");
	if (spread->used_runs < 2)
		return error_set(err, -ENODATA, "fewer than two runs counted the event");
	read_sources(spread);
	spread->base = spread->options.base_given ? spread->options.base : choose(spread);
	if (spread->base == SPREAD_TOTAL && leave_out_idle(spread) < 0)
		return error_set(err, -ENOMEM, "out of memory comparing runs");
	if (spread->used_runs < 2)
		return error_set(err, -ENODATA,
				 "fewer than two runs have samples to take shares of");
	return fill_exposures(spread, err);
}

/* ---- the figures of a row */

static void add_value(struct spread_row *row, size_t run, double value)
{
	if (row->runs == 0 || value < row->least) {
		row->least = value;
		row->least_run = run;
	}
	if (row->runs == 0 || value > row->most) {
		row->most = value;
		row->most_run = run;
	}
	row->runs++;
	row->seen += value > 0;
	row->total += value;
}

static void fill_figures(const struct spread *spread, struct spread_row *row)
{
	for (size_t run = 0; run < spread->run_count; run++) {
		/* NAN where the run is not used, as the exposure is */
		row->values[run] = (double)row->cells[run].estimate / spread->runs[run].exposure;
		if (spread->runs[run].used)
			add_value(row, run, row->values[run]);
	}
	row->mean = row->total / (double)row->runs;
	double squares = 0;
	for (size_t run = 0; run < spread->run_count; run++)
		if (spread->runs[run].used)
			squares += (row->values[run] - row->mean) * (row->values[run] - row->mean);
	row->deviation = row->runs > 1 ? sqrt(squares / ((double)row->runs - 1)) : (double)NAN;
	row->range_ratio = row->total > 0 ? (row->most - row->least) / row->total : (double)NAN;
	double whole = 0;
	for (size_t run = 0; run < spread->run_count; run++)
		whole += spread->runs[run].used ? (double)spread->runs[run].whole.estimate : 0;
	row->share = whole > 0 ? (double)row->sum.estimate / whole : (double)NAN;
}

/* Those of imported counts are as the reader says. */
static double squares_of(const struct spread *spread, const struct cell *cell)
{
	if (cell->squares || spread->counts != DIFFERENCE_COUNTS_SAMPLES)
		return (double)cell->squares;
	return (double)cell->estimate * spread->step; /* each sample weighs one */
}

/* ---- its test */

/* Exact counts differ, or do not. */
static double exact_p(const struct spread_row *row)
{
	return row->most - row->least > 1e-9 * row->most ? 0 : 1;
}

/* What the used runs have of a row. */
static void fill_runs(const struct spread *spread, const struct spread_row *row,
		      struct dispersion_run *runs)
{
	size_t count = 0;
	for (size_t run = 0; run < spread->run_count; run++) {
		const struct spread_run *of = &spread->runs[run];
		if (!of->used)
			continue;
		runs[count++] =
			(struct dispersion_run){ .value = (double)row->cells[run].estimate,
						 .squares = squares_of(spread, &row->cells[run]),
						 .whole = (double)of->whole.estimate,
						 .whole_squares = squares_of(spread, &of->whole),
						 .exposure = of->exposure };
	}
}

static void take_test(const struct spread *spread, const struct dispersion_case *test,
		      struct spread_row *row)
{
	bool exact = spread->counts == DIFFERENCE_COUNTS_EXACT && !test->of.known;
	row->tested = spread->base != SPREAD_TOTAL || row != &spread->whole;
	row->p = row->chance = NAN;
	if (exact)
		row->chance = 0;
	else if (test->of.known)
		row->chance = test->of.each > 0 ? row->mean / sqrt(test->of.each) : 0;
	if (row->tested && exact)
		row->p = exact_p(row);
	else if (row->tested && test->of.known)
		row->p = test->p;
}

int spread_fill_rows(const struct spread *spread, struct spread_row *rows, size_t count)
{
	CLEANUP(free_pointer)
	struct dispersion_run *runs = calloc(spread->run_count, sizeof(*runs));
	CLEANUP(free_pointer) struct dispersion_case *tests = calloc(count + 1, sizeof(*tests));
	if (!runs || !tests)
		return -ENOMEM;
	enum dispersion_exposure exposure =
		spread->base == SPREAD_TOTAL ? DISPERSION_WITHIN : DISPERSION_APART;
	for (size_t i = 0; i < count; i++) {
		fill_figures(spread, &rows[i]);
		fill_runs(spread, &rows[i], runs);
		tests[i].of = dispersion_of(runs, spread->used_runs, exposure);
	}
	if (dispersion_test_all(runs, spread->used_runs, tests, count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		take_test(spread, &tests[i], &rows[i]);
	return 0;
}
