#include "analyze/report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/report/page_notes.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"

const char *const report_part_names[REPORT_PARTS] = {
	[REPORT_PROCEDURE] = "procedure",
	[REPORT_IMAGE] = "image",
	[REPORT_PROCESS] = "process",
	[REPORT_THREAD] = "thread",
	[REPORT_CPU] = "cpu",
	[REPORT_CGROUP] = "cgroup",
	[REPORT_SERVICE] = "service",
	[REPORT_CONTAINER] = "container",
	[REPORT_LINE] = "line",
	[REPORT_ADDRESS] = "address",
};

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory making the report");
}

int report_add_note(struct report *report, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int ret = page_note_add(&report->arena, &report->notes, &report->note_count, format, args);
	va_end(args);
	return ret;
}

struct estimate report_cpi(const struct report *report, const struct cell *cells, size_t pair)
{
	const struct event_pair *p = &report->columns.pairs[pair];
	return event_column_ratio(&report->columns, p->cycles, p->instructions, p->samples, cells);
}

void report_describe_procedure(struct report *report, struct report_row *row, uint32_t procedure)
{
	const struct place_procedure *p = places_procedure(report->places, procedure);
	row->texts[REPORT_PROCEDURE] = p->name;
	row->procedure = procedure;
	row->image = p->image;
	row->image_name = p->image_name;
	row->marks = p->marks;
}

/* ---- order, and the rest */

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b; /* what is not known comes last */
	return strcmp(a, b);
}

int report_compare_names(const struct report_row *a, const struct report_row *b)
{
	int order = 0;
	for (size_t part = 0; order == 0 && part < REPORT_PARTS; part++)
		order = compare_texts(a->texts[part], b->texts[part]);
	if (!order)
		order = compare_texts(a->image_name, b->image_name);
	return order ? order : order_numbers(a->line, b->line);
}

static int compare_names(const struct report *report, const struct report_row *a,
			 const struct report_row *b)
{
	int order = report_compare_names(a, b);
	if (!order)
		order = order_numbers(a->address, b->address);
	if (!order)
		order = order_numbers(a->pid, b->pid);
	if (!order)
		order = order_numbers(a->tid, b->tid);
	if (!order)
		order = order_numbers(a->cpu, b->cpu);
	if (!order && a->image && b->image && a->image != b->image)
		order = span_compare(profile_image(report->profile, a->image).build_id,
				     profile_image(report->profile, b->image).build_id);
	if (!order && a->procedure != PLACE_NONE && b->procedure != PLACE_NONE)
		order = order_numbers(places_procedure(report->places, a->procedure)->first,
				      places_procedure(report->places, b->procedure)->first);
	if (!order)
		order = order_numbers(a->image, b->image);
	return order ? order : order_numbers(a->procedure, b->procedure);
}

static const struct cell *sorted_cells(const struct report *report, const struct report_row *row)
{
	bool self = report->options.sort && strcmp(report->options.sort, "self") == 0;
	return row->total && !self ? row->total : row->self;
}

static int compare_cpi(const struct report *report, const struct cell *a, const struct cell *b)
{
	double left = report_cpi(report, a, 0).value, right = report_cpi(report, b, 0).value;
	return (left < right) - (left > right); /* an absent one has value 0: last */
}

int report_compare_rows(const void *left, const void *right, void *context)
{
	const struct report *report = context;
	const struct report_row *a = left, *b = right;
	const struct cell *x = sorted_cells(report, a), *y = sorted_cells(report, b);
	const char *sort = report->options.sort;
	size_t main = report->sort_column;
	int order = 0;
	if (sort && strcmp(sort, "name") == 0)
		order = compare_names(report, a, b);
	else if (sort && strcmp(sort, "cpi") == 0)
		order = compare_cpi(report, x, y);
	else if (sort && strcmp(sort, "samples") == 0)
		order = order_numbers(y[main].samples, x[main].samples);
	if (!order && report->columns.count)
		order = order_numbers(y[main].estimate, x[main].estimate);
	for (size_t i = 0; order == 0 && i < report->columns.count; i++)
		order = order_numbers(y[i].estimate, x[i].estimate);
	if (!order && a->total)
		for (size_t i = 0; order == 0 && i < report->columns.count; i++)
			order = order_numbers(b->self[i].estimate, a->self[i].estimate);
	return order ? order : compare_names(report, a, b);
}

bool report_row_is_small(const struct report *report, const struct report_row *row)
{
	if (report->options.min_percent <= 0 || report->columns.count == 0)
		return false;
	const struct cell *cells = row->total ? row->total : row->self;
	for (size_t i = 0; i < report->columns.count; i++)
		if (report->whole[i].estimate &&
		    100.0 * (double)cells[i].estimate >=
			    report->options.min_percent * (double)report->whole[i].estimate)
			return false;
	return true;
}

static int choose_sort(struct report *report, struct error *err)
{
	const char *sort = report->options.sort;
	static const char *const others[] = { "samples", "name", "self" };
	if (!sort)
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(sort, others[i]) == 0)
			return 0;
	if (strcmp(sort, "cpi") == 0) {
		if (report->columns.pair_count)
			return 0;
		return error_set(err, -ENODATA,
				 "no CPI to sort by: the profile needs both cycles and "
				 "instructions");
	}
	for (size_t i = 0; i < report->columns.count; i++)
		if (span_equal(report->columns.list[i].name, span_of_text(sort))) {
			report->sort_column = i;
			return 0;
		}
	return error_set(err, -ENOENT,
			 "cannot sort by '%s': it is no event of the profile, nor samples, self, "
			 "cpi or name",
			 sort);
}

static int require_stacks(const struct report *report, struct error *err)
{
	const struct report_options *options = &report->options;
	static const char *const names[] = { [REPORT_INCLUSIVE] = "--inclusive",
					     [REPORT_TREE] = "--tree",
					     [REPORT_CALLERS] = "--callers",
					     [REPORT_CALLEES] = "--callees" };
	const char *option = options->view != REPORT_FLAT ? names[options->view]
			     : options->focus		  ? "--focus"
			     : options->ignore		  ? "--ignore"
							  : NULL;
	if (!option || report->has_stacks)
		return 0;
	return error_set(
		err, -ENODATA,
		"the profile has no call stacks, which %s needs; 'culprit record -g' keeps "
		"them",
		option);
}

static int allocate_sums(struct report *report)
{
	struct cell **sums[] = { &report->whole, &report->shown, &report->idle,
				 &report->without_stack, &report->rest };
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		*sums[i] = calloc(report->columns.count + 1, sizeof(struct cell));
		if (!*sums[i])
			return -ENOMEM;
	}
	return 0;
}

static int prepare(struct report *report, struct resolver *resolver, struct error *err)
{
	const struct report_options *options = &report->options;
	int ret = event_columns_init_runs(&report->columns, report->profile, options->events.items,
					  options->events.count, options->runs, err);
	if (ret == 0 &&
	    slot_columns_find(&report->columns, &report->slots, &report->slots_count) < 0)
		ret = out_of_memory(err);
	if (ret == 0)
		ret = scope_init(&report->scope, report->profile, &report->columns, err);
	if (ret == 0)
		ret = places_new(report->profile, resolver, &report->places, err);
	if (ret == 0 && allocate_sums(report) < 0)
		ret = out_of_memory(err);
	if (ret == 0)
		ret = choose_sort(report, err);
	report->has_stacks = profile_table(report->profile, PROFILE_STACK)->count > 0;
	report->filtered = options->processes.count || options->images.count ||
			   options->cgroups.count || options->services.count ||
			   options->containers.count || options->cpus || options->focus ||
			   options->ignore;
	return ret < 0 ? ret : require_stacks(report, err);
}

int report_prepare(const struct profile *profile, struct resolver *resolver,
		   const struct report_options *options, struct report **out, struct error *err)
{
	CLEANUP(report_freep) struct report *report = calloc(1, sizeof(*report));
	if (!report)
		return out_of_memory(err);
	report->profile = profile;
	report->options = *options;
	int ret = prepare(report, resolver, err);
	if (ret < 0)
		return ret;
	*out = report;
	report = NULL; /* the caller's from here on */
	return 0;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	event_columns_release(&report->columns);
	free(report->slots);
	scope_release(&report->scope);
	places_free(report->places);
	arena_release(&report->arena);
	free(report->rows);
	free(report->row_cells);
	free(report->row_totals);
	free(report->rest);
	free(report->whole);
	free(report->shown);
	free(report->idle);
	free(report->without_stack);
	free(report->charge);
	free(report->notes);
	free(report);
}

void report_freep(struct report **report)
{
	report_free(*report);
}
