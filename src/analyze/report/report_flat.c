#include "analyze/report/report_flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/chosen_samples.h"
#include "analyze/report/report_lines.h"
#include "analyze/report/report_rows.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/cgroup_names.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory making the report");
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
	case REPORT_SERVICE: {
		const struct service_name service = cgroup_service(context->cgroup);
		texts[0] = service.unit;
		texts[1] = service.manager;
		break;
	}
	case REPORT_CONTAINER:
		texts[0] = profile_context_container(context);
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

/* A chosen_samples_sink. The key of a line is the place, until report_lines_charge(). */
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

static const char *text_of(struct report *report, struct span text)
{
	return text.data ? arena_copy_text(&report->arena, text.data, text.size) : NULL;
}

static int describe_service(struct report *report, struct span cgroup, struct report_row *row)
{
	const struct service_name service = cgroup_service(cgroup);
	size_t before = service.manager.size;
	char *text = arena_allocate(&report->arena, before + service.unit.size + 2);
	if (!text)
		return -ENOMEM;
	row->texts[REPORT_SERVICE] = text;
	if (before) {
		memcpy(text, service.manager.data, before);
		text[before++] = '/';
	}
	memcpy(text + before, service.unit.data, service.unit.size);
	text[before + service.unit.size] = 0;
	return 0;
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
	if (part == REPORT_SERVICE)
		return describe_service(report, context.cgroup, row);
	struct span text = part == REPORT_CGROUP      ? context.cgroup
			   : part == REPORT_CONTAINER ? profile_context_container(&context)
			   : part == REPORT_THREAD    ? context.thread
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
		row->number = (uint32_t)i;
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
		{ REPORT_SERVICE, "services", NULL },
		{ REPORT_CONTAINER, "containers", NULL },
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
		if (part != REPORT_PROCEDURE && part != REPORT_IMAGE && part != REPORT_LINE &&
		    part != REPORT_ADDRESS)
			ret = fold_contexts(report->profile, part, &flat->contexts[part]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int report_flat_fill(struct report *report, struct resolver *resolver, struct error *err)
{
	CLEANUP(flat_rows_release) struct flat_rows flat;
	if (flat_rows_init(&flat, report) < 0)
		return out_of_memory(err);
	CLEANUP(chosen_samples_release) struct chosen_samples selection;
	int ret = chosen_samples_init(&selection, report, resolver, add_sample, &flat, err);
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
