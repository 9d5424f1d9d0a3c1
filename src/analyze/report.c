#include "analyze/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/call_tree.h"
#include "analyze/note.h"
#include "analyze/report_lines.h"
#include "analyze/report_rows.h"
#include "analyze/selection.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

const char *const report_part_names[REPORT_PARTS] = {
	[REPORT_PROCEDURE] = "procedure",
	[REPORT_IMAGE] = "image",
	[REPORT_PROCESS] = "process",
	[REPORT_THREAD] = "thread",
	[REPORT_CPU] = "cpu",
	[REPORT_CGROUP] = "cgroup",
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
	int ret = note_add(&report->arena, &report->notes, &report->note_count, format, args);
	va_end(args);
	return ret;
}

struct estimate report_cpi(const struct report *report, const struct cell *cells, size_t pair)
{
	const struct event_pair *p = &report->columns.pairs[pair];
	struct estimate cpi =
		interval_ratio(&cells[p->cycles], &cells[p->instructions], p->samples);
	double factor = event_column_divisor(&report->columns.list[p->instructions]) /
			event_column_divisor(&report->columns.list[p->cycles]);
	cpi.value *= factor;
	cpi.low *= factor;
	cpi.high *= factor;
	return cpi;
}

/* ---- parts of a context: contexts that show the same share the number of the first of them */

struct context_part {
	const struct profile *profile;
	enum report_part part;
	uint32_t *same; /* by context id: the id that stands for it; 0: not kept */
};

static void part_slots(const struct profile_context *context, enum report_part part,
		       uint64_t slots[4], struct span texts[2])
{
	memset(slots, 0, 4 * sizeof(*slots));
	memset(texts, 0, 2 * sizeof(*texts));
	switch (part) {
	case REPORT_THREAD:
		slots[2] = context->tid;
		texts[1] = context->thread;
		/* fallthrough */
	case REPORT_PROCESS:
		slots[0] = context->pid;
		slots[1] = context->start_ns;
		texts[0] = context->comm;
		break;
	case REPORT_CPU:
		slots[3] = context->cpu;
		break;
	case REPORT_CGROUP:
		texts[0] = context->cgroup;
		break;
	default:
		break;
	}
}

static bool part_is_absent(const uint64_t slots[4], const struct span texts[2])
{
	return !slots[0] && !slots[2] && !slots[3] && !texts[0].data && !texts[1].data;
}

static uint64_t part_hash(const void *rows, uint32_t position)
{
	const struct context_part *part = rows;
	struct profile_context context = profile_context(part->profile, position);
	uint64_t slots[4];
	struct span texts[2];
	part_slots(&context, part->part, slots, texts);
	return hash_bytes(slots, sizeof(slots)) ^ hash_bytes(texts[0].data, texts[0].size) ^
	       hash_u64(hash_bytes(texts[1].data, texts[1].size));
}

static bool part_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct context_part *part = rows;
	struct profile_context a = profile_context(part->profile, position);
	struct profile_context b = profile_context(part->profile, *(const uint32_t *)wanted);
	uint64_t slots[2][4];
	struct span texts[2][2];
	part_slots(&a, part->part, slots[0], texts[0]);
	part_slots(&b, part->part, slots[1], texts[1]);
	return memcmp(slots[0], slots[1], sizeof(slots[0])) == 0 &&
	       span_equal(texts[0][0], texts[1][0]) && span_equal(texts[0][1], texts[1][1]) &&
	       !texts[0][0].data == !texts[1][0].data && !texts[0][1].data == !texts[1][1].data;
}

static int fold_contexts(const struct profile *profile, enum report_part which, uint32_t **same)
{
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	struct context_part part = { profile, which, calloc(count + 1, sizeof(uint32_t)) };
	struct hash_index index = { 0 };
	int ret = part.same ? 0 : -ENOMEM;
	for (uint32_t id = 1; ret == 0 && id <= count; id++) {
		struct profile_context context = profile_context(profile, id);
		uint64_t slots[4];
		struct span texts[2];
		part_slots(&context, which, slots, texts);
		if (part_is_absent(slots, texts))
			continue;
		uint64_t hash = part_hash(&part, id);
		uint32_t found = hash_index_find(&index, hash, part_equal, &part, &id);
		if (found == HASH_INDEX_NONE) {
			ret = hash_index_add(&index, hash, id);
			found = id;
		}
		part.same[id] = found;
	}
	hash_index_release(&index);
	*same = part.same;
	return ret;
}

/* ---- flat rows */

struct flat_rows {
	struct report *report;
	struct report_rows rows;
	uint32_t *contexts[REPORT_PARTS];
};

/* A selection_sink. Of lines and addresses the key is the place, until all samples are there. */
static int add_sample(void *context, const struct selected *sample)
{
	struct flat_rows *flat = context;
	const struct report *report = flat->report;
	uint32_t key[REPORT_PARTS];
	for (size_t i = 0; i < report->options.part_count; i++) {
		enum report_part part = report->options.parts[i];
		if (part == REPORT_PROCEDURE)
			key[i] = places_procedure_of(report->places, sample->place);
		else if (part == REPORT_IMAGE)
			key[i] = places_image_of(report->places, sample->place);
		else if (part == REPORT_LINE || part == REPORT_ADDRESS)
			key[i] = sample->place;
		else
			key[i] = flat->contexts[part][sample->context];
	}
	uint32_t row;
	int ret = report_rows_find(&flat->rows, key, &row);
	if (ret == 0)
		cell_add(&report_rows_self(&flat->rows, row)[sample->column], &sample->cell);
	return ret;
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

static const char *text_of(struct report *report, struct span text)
{
	return text.data ? arena_copy_text(&report->arena, text.data, text.size) : NULL;
}

/* Fills what a reader sees of one part. */
static int describe_part(struct report *report, struct resolver *resolver, enum report_part part,
			 uint32_t key, struct report_row *row)
{
	if (part == REPORT_PROCEDURE) {
		report_describe_procedure(report, row, key);
		return 0;
	}
	if (part == REPORT_IMAGE) {
		row->image = key;
		row->image_name = key ? resolver_image(resolver, key) : NULL;
		row->texts[part] = row->image_name;
		return 0;
	}
	if (part == REPORT_LINE) {
		const struct place_line *line = places_line(report->places, key);
		if (row->procedure == PLACE_NONE)
			report_describe_procedure(report, row, line->procedure);
		row->texts[part] = line->file;
		row->line = line->file && line->line ? optional_of(line->line) : OPTIONAL_ABSENT;
		return 0;
	}
	if (part == REPORT_ADDRESS) {
		const struct profile_frame frame = places_frame_of(report->places, key);
		if (row->procedure == PLACE_NONE)
			report_describe_procedure(report, row,
						  places_procedure_of(report->places, key));
		if (frame.image && !frame.name)
			row->address =
				optional_of(resolver_vaddr(resolver, frame.image, frame.vaddr));
		return 0;
	}
	if (key == 0)
		return 0; /* not kept */
	struct profile_context context = profile_context(report->profile, key);
	struct span text = part == REPORT_CGROUP   ? context.cgroup
			   : part == REPORT_THREAD ? context.thread
						   : context.comm;
	if (part == REPORT_CPU)
		row->cpu = context.cpu;
	if (part == REPORT_PROCESS || part == REPORT_THREAD)
		row->pid = context.pid;
	if (part == REPORT_THREAD) {
		row->tid = context.tid;
		if (!text.data && context.tid)
			text = context.comm; /* the thread has no name of its own */
	}
	row->texts[part] = text_of(report, text);
	if (part == REPORT_THREAD && !row->texts[REPORT_PROCESS])
		row->texts[REPORT_PROCESS] = text_of(report, context.comm);
	return text.data && !row->texts[part] ? -ENOMEM : 0;
}

static int describe_rows(struct flat_rows *flat, struct resolver *resolver)
{
	struct report *report = flat->report;
	struct report_rows *rows = &flat->rows;
	report->rows = calloc(rows->count + 1, sizeof(*report->rows));
	if (!report->rows)
		return -ENOMEM;
	report->row_cells = rows->self;
	rows->self = NULL; /* the report's from here on */
	for (size_t i = 0; i < rows->count; i++) {
		struct report_row *row = &report->rows[i];
		row->procedure = PLACE_NONE;
		row->self = report->row_cells + i * rows->column_count;
		for (size_t p = 0; p < report->options.part_count; p++) {
			int ret = describe_part(report, resolver, report->options.parts[p],
						report_rows_key(rows, i)[p], row);
			if (ret < 0)
				return ret;
		}
	}
	report->row_count = rows->count;
	return 0;
}

/* A part that no context has: one row `-`, and the option that keeps it. */
static int note_missing_parts(const struct flat_rows *flat)
{
	static const struct {
		enum report_part part;
		const char *what, *option;
	} known[] = {
		{ REPORT_THREAD, "threads", "--per-thread" },
		{ REPORT_CPU, "CPUs", "--per-cpu" },
		{ REPORT_PROCESS, "processes", "--per-process" },
		{ REPORT_CGROUP, "cgroups", NULL },
	};
	struct report *report = flat->report;
	const struct profile *profile = report->profile;
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!flat->contexts[known[i].part])
			continue;
		bool kept = false;
		for (size_t id = 1; id <= count; id++) {
			struct profile_context context = profile_context(profile, id);
			kept |= known[i].part == REPORT_THREAD
					? context.tid || context.thread.data
					: flat->contexts[known[i].part][id] != 0;
		}
		if (kept)
			continue;
		int ret =
			known[i].option
				? report_add_note(report,
						  "the profile did not keep %s; 'culprit record "
						  "%s' keeps them",
						  known[i].what, known[i].option)
				: report_add_note(report, "the profile knows no %s", known[i].what);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int note_missing_lines(struct report *report)
{
	struct cell unknown = { 0 };
	bool lines = false;
	for (size_t i = 0; i < report->options.part_count; i++)
		lines |= report->options.parts[i] == REPORT_LINE;
	if (!lines || report->columns.count == 0)
		return 0;
	for (size_t i = 0; i < report->row_count; i++)
		if (!report->rows[i].texts[REPORT_LINE])
			cell_add(&unknown, &report->rows[i].self[report->sort_column]);
	const struct cell *shown = &report->shown[report->sort_column];
	if (unknown.estimate == 0 || shown->estimate == 0)
		return 0;
	return report_add_note(
		report,
		"%.2f %% of what is shown has no source line: no line information was "
		"found for it",
		100.0 * (double)unknown.estimate / (double)shown->estimate);
}

static void flat_rows_release(struct flat_rows *flat)
{
	for (size_t i = 0; i < REPORT_PARTS; i++)
		free(flat->contexts[i]);
	report_rows_release(&flat->rows);
}

static int flat_rows_init(struct flat_rows *flat, struct report *report)
{
	*flat = (struct flat_rows){ .report = report };
	report_rows_init(&flat->rows, report->options.part_count, report->columns.count);
	for (size_t i = 0; i < report->options.part_count; i++) {
		enum report_part part = report->options.parts[i];
		int ret = 0;
		if (part == REPORT_PROCESS || part == REPORT_THREAD || part == REPORT_CPU ||
		    part == REPORT_CGROUP)
			ret = fold_contexts(report->profile, part, &flat->contexts[part]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int fill_flat(struct report *report, struct resolver *resolver, struct error *err)
{
	CLEANUP(flat_rows_release) struct flat_rows flat;
	if (flat_rows_init(&flat, report) < 0)
		return out_of_memory(err);
	CLEANUP(selection_release) struct selection selection;
	int ret = selection_init(&selection, report, resolver, add_sample, &flat, err);
	for (size_t i = 0; ret == 0 && i < report->options.part_count; i++)
		if (report->options.parts[i] == REPORT_LINE)
			ret = report_lines_charge(report, resolver, i, &flat.rows, err);
	if (ret < 0)
		return ret;
	if (describe_rows(&flat, resolver) < 0 || note_missing_parts(&flat) < 0 ||
	    note_missing_lines(report) < 0)
		return out_of_memory(err);
	return 0;
}

static int fill_stacks(struct report *report, struct resolver *resolver, struct error *err)
{
	CLEANUP(selection_release) struct selection selection;
	int ret = selection_init(&selection, report, resolver, NULL, NULL, err);
	return ret < 0 ? ret : call_tree_fill(report, &selection, err);
}

/* ---- order, and the rest */

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b; /* what is not known comes last */
	return strcmp(a, b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_names(const struct report *report, const struct report_row *a,
			 const struct report_row *b)
{
	int order = 0;
	for (size_t part = 0; order == 0 && part < REPORT_PARTS; part++)
		order = compare_texts(a->texts[part], b->texts[part]);
	if (!order)
		order = compare_texts(a->image_name, b->image_name);
	if (!order)
		order = compare_numbers(a->line, b->line);
	if (!order)
		order = compare_numbers(a->address, b->address);
	if (!order)
		order = compare_numbers(a->pid, b->pid);
	if (!order)
		order = compare_numbers(a->tid, b->tid);
	if (!order)
		order = compare_numbers(a->cpu, b->cpu);
	if (!order && a->image && b->image && a->image != b->image)
		order = span_compare(profile_image(report->profile, a->image).build_id,
				     profile_image(report->profile, b->image).build_id);
	if (!order && a->procedure != PLACE_NONE && b->procedure != PLACE_NONE)
		order = compare_numbers(places_procedure(report->places, a->procedure)->first,
					places_procedure(report->places, b->procedure)->first);
	if (!order)
		order = compare_numbers(a->image, b->image);
	return order ? order : compare_numbers(a->procedure, b->procedure);
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
		order = compare_numbers(y[main].samples, x[main].samples);
	if (!order && report->columns.count)
		order = compare_numbers(y[main].estimate, x[main].estimate);
	for (size_t i = 0; order == 0 && i < report->columns.count; i++)
		order = compare_numbers(y[i].estimate, x[i].estimate);
	if (!order && a->total)
		for (size_t i = 0; order == 0 && i < report->columns.count; i++)
			order = compare_numbers(b->self[i].estimate, a->self[i].estimate);
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

static void cut_rows(struct report *report)
{
	size_t kept = 0;
	for (size_t i = 0; i < report->row_count; i++) {
		struct report_row *row = &report->rows[i];
		bool full = report->options.limit && kept == report->options.limit;
		if (!full && !report_row_is_small(report, row)) {
			report->rows[kept++] = *row;
			continue;
		}
		report->rest_count++;
		for (size_t c = 0; c < report->columns.count; c++)
			cell_add(&report->rest[c], &row->self[c]);
	}
	report->row_count = kept;
}

/* ---- the whole */

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

static int note_pairs(struct report *report)
{
	for (size_t i = 0; i < report->columns.pair_count; i++) {
		const struct event_pair *pair = &report->columns.pairs[i];
		const struct event_column *cycles = &report->columns.list[pair->cycles];
		const struct event_column *other = &report->columns.list[pair->instructions];
		if (pair->samples == RATIO_GROUPED || (cycles->sampled && other->sampled))
			continue;
		if (report_add_note(report, "both events of the CPI were read with a third one's "
					    "samples: its intervals are upper bounds") < 0)
			return -ENOMEM;
		break;
	}
	return 0;
}

static int prepare(struct report *report, struct resolver *resolver, struct error *err)
{
	const struct report_options *options = &report->options;
	int ret = event_columns_init(&report->columns, report->profile, options->events.items,
				     options->events.count, err);
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
			   options->cgroups.count || options->cpus || options->focus ||
			   options->ignore;
	return ret < 0 ? ret : require_stacks(report, err);
}

static int make(struct report *report, struct resolver *resolver, struct error *err)
{
	const struct report_options *options = &report->options;
	int ret = options->view == REPORT_FLAT ? fill_flat(report, resolver, err)
					       : fill_stacks(report, resolver, err);
	if (ret == 0 && (options->view == REPORT_FLAT || options->view == REPORT_INCLUSIVE)) {
		qsort_r(report->rows, report->row_count, sizeof(*report->rows), report_compare_rows,
			report);
		cut_rows(report);
	}
	if (ret == 0 && (places_tell_apart(report->places) < 0 || note_pairs(report) < 0))
		ret = out_of_memory(err);
	return ret;
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

int report_new(const struct profile *profile, struct resolver *resolver,
	       const struct report_options *options, struct report **out, struct error *err)
{
	CLEANUP(report_freep) struct report *report = NULL;
	int ret = report_prepare(profile, resolver, options, &report, err);
	if (ret == 0)
		ret = make(report, resolver, err);
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
