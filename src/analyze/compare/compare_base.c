#include "analyze/compare/compare_base.h"

#include <errno.h>
#include <string.h>

#include "analyze/compare/compare_scope.h"
#include "analyze/names/procedure_name.h"
#include "analyze/report/report_make.h"
#include "base/cleanup.h"
#include "base/error.h"

#define NS_PER_S 1e9

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing profiles");
}

static void set_all(struct comparison *comparison, struct difference_scale scale)
{
	for (size_t i = 0; i < comparison->column_count; i++)
		comparison->columns[i].event.scale = scale;
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

static int by_second(struct comparison *comparison, struct error *err)
{
	const struct scope *before = &comparison->before->scope, *after = &comparison->after->scope;
	struct difference_scale scale = difference_scale_seconds(
		(double)before->duration_ns / NS_PER_S, (double)after->duration_ns / NS_PER_S);
	if (scale.factor <= 0)
		return error_set(err, -ENODATA,
				 "no duration is known of the %s side, which --per second needs",
				 before->duration_ns ? "after" : "base");
	set_all(comparison, scale);
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

/* Counts without an address are exact where there are any; else the samples' sum. */
static int event_total(const struct compare_side *side, const char *name, struct cell *total,
		       struct error *err)
{
	const struct table *counters = profile_table(side->profile, PROFILE_COUNTER);
	*total = (struct cell){ 0 };
	for (size_t row = 0; row < counters->count; row++) {
		uint64_t event = table_keys(counters, row)[COUNTER_EVENT];
		struct cell cell = cell_of_values(table_values(counters, row));
		if (event &&
		    is_event(side->profile, profile_event(side->profile, event).name, name))
			cell_add(total, &cell);
	}
	if (total->estimate)
		return 0;
	const char *pattern[] = { name };
	const struct report_options options = { .parts = { REPORT_IMAGE },
						.part_count = 1,
						.events = { pattern, 1 } };
	CLEANUP(report_freep) struct report *report = NULL;
	int ret = report_new(side->profile, side->resolver, &options, &report, err);
	for (size_t i = 0; ret == 0 && i < report->columns.count; i++)
		cell_add(total, &report->whole[i]);
	return ret;
}

static int by_event(struct comparison *comparison, const struct compare_side *before,
		    const struct compare_side *after, const char *name, struct error *err)
{
	struct cell totals[2];
	int ret = event_total(before, name, &totals[0], err);
	if (ret == 0)
		ret = event_total(after, name, &totals[1], err);
	if (ret < 0)
		return ret;
	struct difference_scale scale =
		difference_scale_counts(DIFFERENCE_EVENT, &totals[0], &totals[1]);
	if (scale.factor <= 0)
		return error_set(err, -ENODATA, "the %s side has no count of '%s' to compare by",
				 totals[0].estimate ? "after" : "base", name);
	set_all(comparison, scale);
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

/* The cost of the one procedure of that name in column `at`; -ENOENT without one. */
static int procedure_cost(const struct compare_side *side, const struct report_options *options,
			  const char *name, size_t at, struct cell *cost, struct error *err)
{
	CLEANUP(report_freep) struct report *report = NULL;
	int ret = report_new(side->profile, side->resolver, options, &report, err);
	if (ret < 0)
		return ret;
	const struct report_row *found = NULL, *second = NULL;
	enum procedure_name_fit best = NAME_FITS_NOT;
	for (size_t i = 0; i < report->row_count; i++) {
		const struct report_row *row = &report->rows[i];
		enum procedure_name_fit fit = fit_of(report, row, name);
		if (fit == NAME_FITS_NOT || fit < best)
			continue;
		second = fit == best ? row : NULL;
		found = fit == best ? found : row;
		best = fit;
	}
	if (!found)
		return -ENOENT;
	if (second)
		return refuse_several(name, found, second, err);
	*cost = (found->total ? found->total : found->self)[at];
	return 0;
}

static int by_function(struct comparison *comparison, const struct compare_side *before,
		       const struct compare_side *after, const char *name, struct error *err)
{
	const struct compared_column *main = &comparison->columns[comparison->main];
	bool stacks = comparison->before->has_stacks && comparison->after->has_stacks;
	struct report_options options = { .view = stacks ? REPORT_INCLUSIVE : REPORT_FLAT,
					  .parts = { REPORT_PROCEDURE },
					  .part_count = 1 };
	struct cell costs[2];
	options.events = comparison->before->options.events;
	int ret = procedure_cost(before, &options, name, main->before, &costs[0], err);
	if (ret == 0) {
		options.events = comparison->after->options.events;
		ret = procedure_cost(after, &options, name, main->after, &costs[1], err);
	}
	if (ret == -ENOENT)
		return error_set(err, ret,
				 "nothing called '%s' is on both sides: --per takes raw, total, "
				 "second, or an event or procedure that both profiles have",
				 name);
	if (ret < 0)
		return ret;
	struct difference_scale scale =
		difference_scale_counts(DIFFERENCE_FUNCTION, &costs[0], &costs[1]);
	if (scale.factor <= 0)
		return error_set(err, -ENODATA, "'%s' has no cost on the %s side to compare by",
				 name, costs[0].estimate ? "after" : "base");
	set_all(comparison, scale);
	comparison->constant_inclusive = stacks;
	return 0;
}

/* ---- choosing */

static int choose(struct comparison *comparison, struct error *err)
{
	const struct scope *before = &comparison->before->scope, *after = &comparison->after->scope;
	if (before->duration_ns && after->duration_ns && compare_time_was_chosen(before) &&
	    compare_time_was_chosen(after)) {
		comparison->base = DIFFERENCE_SECOND;
		return by_second(comparison, err);
	}
	comparison->base = DIFFERENCE_RAW;
	set_all(comparison, difference_scale_raw());
	return 0;
}

int compare_choose_base(struct comparison *comparison, const struct compare_side *before,
			const struct compare_side *after, struct error *err)
{
	const char *per = comparison->options.per;
	comparison->base_chosen = per != NULL;
	if (!per)
		return choose(comparison, err);
	if (strcmp(per, difference_base_names[DIFFERENCE_RAW]) == 0) {
		comparison->base = DIFFERENCE_RAW;
		set_all(comparison, difference_scale_raw());
		return 0;
	}
	if (strcmp(per, difference_base_names[DIFFERENCE_TOTAL]) == 0) {
		comparison->base = DIFFERENCE_TOTAL;
		return by_total(comparison, err);
	}
	if (strcmp(per, difference_base_names[DIFFERENCE_SECOND]) == 0) {
		comparison->base = DIFFERENCE_SECOND;
		return by_second(comparison, err);
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
