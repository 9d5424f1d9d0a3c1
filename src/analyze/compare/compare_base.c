#include "analyze/compare/compare_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare_runs.h"
#include "analyze/compare/compare_scope.h"
#include "analyze/figures/column_match.h"
#include "analyze/names/procedure_name.h"
#include "analyze/report/report_make.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"
#include "profile/runs.h"

#define NS_PER_S 1e9

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing profiles");
}

/* Which of a side's runs an event or a recording is of. False: of none of them. */
static bool run_of(const struct compare_side *side, uint64_t mark, size_t *run)
{
	*run = side->runs ? (size_t)mark - 1 : 0;
	return !side->runs || (mark >= 1 && mark <= side->runs);
}

/* Makes room for what the base counts in each run. */
static int work_init(struct comparison *comparison, struct error *err)
{
	for (size_t s = 0; s < 2; s++) {
		comparison->work[s] =
			calloc(comparison->side_runs[s], sizeof(*comparison->work[s]));
		if (!comparison->work[s])
			return out_of_memory(err);
	}
	return 0;
}

/* What the base counts in those runs of a side that counted the column's event. */
static struct cell work_of(const struct comparison *comparison, size_t side, size_t column)
{
	struct cell sum = { 0 };
	for (size_t run = 0; run < comparison->side_runs[side]; run++)
		if (compare_runs_have(comparison, side, column, run))
			cell_add(&sum, &comparison->work[side][run]);
	return sum;
}

/* Scales each column by the work of the runs that counted it. Returns the side that has none in
 * some column (0: the base), or -1. */
static int scale_by_work(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->column_count; i++) {
		struct cell before = work_of(comparison, 0, i), after = work_of(comparison, 1, i);
		struct difference_scale *scale = &comparison->columns[i].event.scale;
		*scale = comparison->base == DIFFERENCE_SECOND
				 ? difference_scale_seconds((double)before.estimate / NS_PER_S,
							    (double)after.estimate / NS_PER_S)
				 : difference_scale_counts(comparison->base, &before, &after);
		if (!(scale->factor > 0))
			return before.estimate ? 1 : 0;
	}
	return -1;
}

static void by_run(struct comparison *comparison)
{
	comparison->base = DIFFERENCE_RAW;
	for (size_t i = 0; i < comparison->column_count; i++) {
		struct compared_column *column = &comparison->columns[i];
		column->event.scale = difference_scale_runs(column->runs[0], column->runs[1]);
	}
}

static int by_total(struct comparison *comparison, struct error *err)
{
	const struct difference_event *main = &comparison->columns[comparison->main].event;
	if (!main->before_whole.estimate || !main->after_whole.estimate)
		return error_set(err, -ENODATA, "the %s side has no samples to take shares of",
				 main->before_whole.estimate ? "after" : "base");
	for (size_t i = 0; i < comparison->column_count; i++) {
		struct compared_column *column = &comparison->columns[i];
		column->event.scale = difference_scale_counts(
			DIFFERENCE_TOTAL, &column->event.before_whole, &column->event.after_whole);
		column->overlap = DIFFERENCE_WITHIN;
	}
	if (compare_note(comparison,
			 "totals are assumed equal: work that stayed the same seems to change "
			 "when the rest does, and a program in which everything takes twice as "
			 "long shows no change") < 0)
		return out_of_memory(err);
	return 0;
}

static void read_durations(const struct compare_side *side, size_t runs, struct cell *work)
{
	size_t run;
	for (size_t row = 0; row < profile_table(side->profile, PROFILE_SOURCE)->count; row++)
		if (run_of(side, profile_source_run(side->profile, row), &run))
			sum_add(&work[run].estimate,
				profile_source(side->profile, row).duration_ns);
	for (run = 0; run < runs; run++)
		if (sum_passed(work[run].estimate))
			work[run].estimate = 0; /* not known */
}

static int by_second(struct comparison *comparison, const struct compare_side *before,
		     const struct compare_side *after, struct error *err)
{
	if (work_init(comparison, err) < 0)
		return -ENOMEM;
	read_durations(before, comparison->side_runs[0], comparison->work[0]);
	read_durations(after, comparison->side_runs[1], comparison->work[1]);
	int none = scale_by_work(comparison);
	if (none >= 0)
		return error_set(err, -ENODATA,
				 "no duration is known of the %s side, which --per second needs",
				 none ? "after" : "base");
	return 0;
}

/* ---- an event that counts work */

static bool has_name(const struct profile *profile, struct span name)
{
	for (size_t id = 1; id <= profile_table(profile, PROFILE_EVENT)->count; id++)
		if (span_equal(profile_event(profile, id).name, name))
			return true;
	return false;
}

/* Whether `wanted` means the event of that name: "cycles" means "cycles:u" where no event is called
 * just that. */
static bool is_event(const struct profile *profile, struct span name, const char *wanted)
{
	struct span text = span_of_text(wanted);
	return span_equal(name, text) ||
	       (span_equal(event_base_name(name), text) && !has_name(profile, text));
}

bool compare_has_event(const struct profile *profile, const char *name)
{
	for (size_t id = 1; id <= profile_table(profile, PROFILE_EVENT)->count; id++)
		if (is_event(profile, profile_event(profile, id).name, name))
			return true;
	return false;
}

/* The most decimals that an event of that name has on the side. */
static uint64_t most_decimals(const struct compare_side *side, const char *name)
{
	uint64_t most = 0;
	for (size_t id = 1; id <= profile_table(side->profile, PROFILE_EVENT)->count; id++) {
		struct profile_event event = profile_event(side->profile, id);
		if (event.scale > most && is_event(side->profile, event.name, name))
			most = event.scale;
	}
	return most;
}

/* An event that counts work, in the decimals of both sides. */
struct work_event {
	const char *name;
	uint64_t scale;
};

/* Of each run counts without an address, which are exact. Whether there are any. */
static bool add_counts(const struct compare_side *side, const struct work_event *wanted,
		       struct cell *work)
{
	const struct table *counters = profile_table(side->profile, PROFILE_COUNTER);
	bool any = false;
	for (size_t row = 0; row < counters->count; row++) {
		uint64_t id = table_keys(counters, row)[COUNTER_EVENT];
		struct cell cell = cell_of_values(table_values(counters, row));
		size_t run;
		if (!id || !run_of(side, profile_event_run(side->profile, id), &run))
			continue;
		struct profile_event event = profile_event(side->profile, id);
		if (!is_event(side->profile, event.name, wanted->name))
			continue;
		cell = column_match_cell(&cell, event.scale, wanted->scale);
		cell_add(&work[run], &cell);
		any |= cell.estimate > 0;
	}
	return any;
}

/* What each run has of the event: exact counts where there are any, else its samples. */
static int event_work(const struct compare_side *side, const struct work_event *wanted,
		      struct cell *work, struct error *err)
{
	if (add_counts(side, wanted, work))
		return 0;
	const char *pattern[] = { wanted->name };
	const struct report_options options = { .parts = { REPORT_IMAGE },
						.part_count = 1,
						.events = { pattern, 1 },
						.runs = side->runs ? EVENT_RUNS_APART
								   : EVENT_RUNS_TOGETHER };
	CLEANUP(report_freep) struct report *report = NULL;
	int ret = report_new(side->profile, side->resolver, &options, &report, err);
	for (size_t i = 0; ret == 0 && i < report->columns.count; i++) {
		const struct event_column *column = &report->columns.list[i];
		struct cell cell =
			column_match_cell(&report->whole[i], column->scale, wanted->scale);
		size_t run;
		if (run_of(side, column->run, &run))
			cell_add(&work[run], &cell);
	}
	return ret;
}

static int by_event(struct comparison *comparison, const struct compare_side *before,
		    const struct compare_side *after, const char *name, struct error *err)
{
	uint64_t decimals[] = { most_decimals(before, name), most_decimals(after, name) };
	const struct work_event wanted = { name, decimals[decimals[1] > decimals[0]] };
	int ret = work_init(comparison, err);
	if (ret == 0)
		ret = event_work(before, &wanted, comparison->work[0], err);
	if (ret == 0)
		ret = event_work(after, &wanted, comparison->work[1], err);
	if (ret < 0)
		return ret;
	int none = scale_by_work(comparison);
	if (none >= 0)
		return error_set(err, -ENODATA, "the %s side has no count of '%s' to compare by",
				 none ? "after" : "base", name);
	for (size_t i = 0; i < comparison->column_count; i++) {
		struct compared_column *column = &comparison->columns[i];
		struct span event = comparison->before->columns.list[column->before].name;
		if (is_event(before->profile, event, name))
			column->overlap = DIFFERENCE_WITHIN;
	}
	return 0;
}

/* ---- a function that did the same */

/* A part of a name is not enough to compare by. */
static enum procedure_name_fit fit_of(const struct report *report, const struct report_row *row,
				      const char *wanted)
{
	const char *name = row->texts[REPORT_PROCEDURE];
	if (!name)
		return NAME_FITS_NOT;
	const struct place_procedure *procedure = places_procedure(report->places, row->procedure);
	enum procedure_name_fit fit = procedure_name_fit(name, procedure->linkage, wanted);
	return fit > NAME_FITS_PART ? fit : NAME_FITS_NOT;
}

static int refuse_several(const char *name, const struct report_row *first,
			  const struct report_row *second, struct error *err)
{
	const char *names[] = { first->texts[REPORT_PROCEDURE], second->texts[REPORT_PROCEDURE] };
	bool differ = strcmp(names[0], names[1]) != 0;
	return error_set(err, -EINVAL,
			 "'%s' names more than one procedure, %s'%s' and '%s'; compare by one that "
			 "is alone",
			 name, differ ? "" : "in ", differ ? names[0] : first->image_name,
			 differ ? names[1] : second->image_name);
}

/* Whether the two are one procedure of a program that was built anew between the runs of a side. */
static bool is_of_other_build(const struct compare_side *side, const struct report_row *a,
			      const struct report_row *b)
{
	if (!side->runs || !a->image || !b->image || a->image == b->image ||
	    strcmp(a->texts[REPORT_PROCEDURE], b->texts[REPORT_PROCEDURE]) != 0 ||
	    strcmp(a->image_name, b->image_name) != 0)
		return false;
	struct profile_image x = profile_image(side->profile, a->image);
	struct profile_image y = profile_image(side->profile, b->image);
	return !profile_image_same_build(&x, &y);
}

/* The row of the one procedure of that name, the first of its builds; NULL: there is none. */
static int find_procedure(const struct compare_side *side, const struct report *report,
			  const char *name, const struct report_row **out, struct error *err)
{
	const struct report_row *found = NULL, *second = NULL;
	enum procedure_name_fit best = NAME_FITS_NOT;
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		enum procedure_name_fit fit = fit_of(report, row, name);
		if (fit == NAME_FITS_NOT || fit < best ||
		    (fit == best && is_of_other_build(side, found, row)))
			continue;
		second = fit == best ? row : NULL;
		found = fit == best ? found : row;
		best = fit;
	}
	*out = found;
	return second ? refuse_several(name, found, second, err) : 0;
}

/* The cost of the procedure in each run of a side, in column `at` of all runs. */
static int procedure_work(const struct compare_side *side, const struct report_options *options,
			  const char *name, size_t at, struct cell *work, struct error *err)
{
	CLEANUP(report_freep) struct report *report = NULL;
	CLEANUP(run_cells_release) struct run_cells cells = { 0 };
	const struct report_row *first = NULL;
	int ret = report_new(side->profile, side->resolver, options, &report, err);
	if (ret == 0)
		ret = find_procedure(side, report, name, &first, err);
	if (ret < 0)
		return ret;
	if (!first)
		return -ENOENT;
	if (!side->runs) {
		work[0] = (first->total ? first->total : first->self)[at];
		return 0;
	}
	ret = run_cells_init(&cells, report, side->resolver, side->runs, at, err);
	for (size_t i = 0; ret == 0 && i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		if (row != first &&
		    !(row->texts[REPORT_PROCEDURE] && is_of_other_build(side, first, row)))
			continue;
		for (size_t run = 0; run < side->runs; run++)
			cell_add(&work[run], run_cells_of(&cells, row, at, run));
	}
	return ret;
}

/* Both sides' costs in the decimals that the column is compared in. */
static void match_decimals(struct comparison *comparison, const struct compared_column *column)
{
	const struct event_column *columns[] = {
		&comparison->before->columns.list[column->before],
		&comparison->after->columns.list[column->after],
	};
	uint64_t scale = column_match_scale(columns[0], columns[1]);
	for (size_t s = 0; s < 2; s++)
		for (size_t run = 0; run < comparison->side_runs[s]; run++) {
			struct cell *work = &comparison->work[s][run];
			*work = column_match_cell(work, columns[s]->scale, scale);
		}
}

static int by_function(struct comparison *comparison, const struct compare_side *before,
		       const struct compare_side *after, const char *name, struct error *err)
{
	const struct compared_column *main = &comparison->columns[comparison->main];
	bool stacks = comparison->before->has_stacks && comparison->after->has_stacks;
	struct report_options options = { .view = stacks ? REPORT_INCLUSIVE : REPORT_FLAT,
					  .parts = { REPORT_PROCEDURE },
					  .part_count = 1 };
	int ret = work_init(comparison, err);
	if (ret < 0)
		return ret;
	options.events = comparison->before->options.events;
	ret = procedure_work(before, &options, name, main->before, comparison->work[0], err);
	if (ret == 0) {
		options.events = comparison->after->options.events;
		ret = procedure_work(after, &options, name, main->after, comparison->work[1], err);
	}
	if (ret == -ENOENT)
		return error_set(err, ret,
				 "nothing called '%s' is on both sides: --per takes raw, total, "
				 "second, or an event or procedure that both profiles have",
				 name);
	if (ret < 0)
		return ret;
	match_decimals(comparison, main);
	int none = scale_by_work(comparison);
	if (none >= 0)
		return error_set(err, -ENODATA, "'%s' has no cost on the %s side to compare by",
				 name, none ? "after" : "base");
	comparison->constant_inclusive = stacks;
	return 0;
}

/* ---- choosing */

static int choose(struct comparison *comparison, const struct compare_side *sides[2],
		  struct error *err)
{
	const struct scope *before = &comparison->before->scope, *after = &comparison->after->scope;
	if (before->duration_ns && after->duration_ns && compare_time_was_chosen(before) &&
	    compare_time_was_chosen(after)) {
		comparison->base = DIFFERENCE_SECOND;
		return by_second(comparison, sides[0], sides[1], err);
	}
	by_run(comparison);
	return 0;
}

int compare_choose_base(struct comparison *comparison, const struct compare_side *before,
			const struct compare_side *after, struct error *err)
{
	const char *per = comparison->options.per;
	comparison->base_chosen = per != NULL;
	if (!per)
		return choose(comparison, (const struct compare_side *[]){ before, after }, err);
	if (strcmp(per, difference_base_names[DIFFERENCE_RAW]) == 0) {
		by_run(comparison);
		return 0;
	}
	if (strcmp(per, difference_base_names[DIFFERENCE_TOTAL]) == 0) {
		comparison->base = DIFFERENCE_TOTAL;
		return by_total(comparison, err);
	}
	if (strcmp(per, difference_base_names[DIFFERENCE_SECOND]) == 0) {
		comparison->base = DIFFERENCE_SECOND;
		return by_second(comparison, before, after, err);
	}
	bool event =
		compare_has_event(before->profile, per) && compare_has_event(after->profile, per);
	comparison->base = event ? DIFFERENCE_EVENT : DIFFERENCE_FUNCTION;
	comparison->constant = arena_copy_text(&comparison->arena, per, strlen(per));
	if (!comparison->constant)
		return out_of_memory(err);
	return event ? by_event(comparison, before, after, per, err)
		     : by_function(comparison, before, after, per, err);
}
