#include "export/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/interval.h"
#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "export/figure.h"
#include "export/frames.h"
#include "image/writer.h"

const char *const row_column_names[ROW_COLUMNS] = {
	"relation",	  "event",     "unit",	     "host",	 "comm",
	"cgroup",	  "container", "pid",	     "start_ns", "tid",
	"thread",	  "cpu",       "core_type",  "labels",	 "image",
	"image_kind",	  "build_id",  "procedure",  "vaddr",	 "offset",
	"file",		  "line",      "stack",	     "samples",	 "estimate",
	"standard_error", "image_id",  "context_id", "stack_id", "writable_by",
};

#define NOT_MADE SIZE_MAX

struct writer {
	const struct export_input *input;
	rows_visit visit;
	void *context;
	struct export_sums *sums;
	uint32_t *position; /* of a column among the chosen, or STACK_NONE */
	struct hash128 *images, *contexts, *nodes;
	struct stacks spelled; /* frames only */
	struct frames frames;
	struct frame_list list;
	size_t *first; /* by node: where its frames begin in the list; they end at the next node's
			*/
	uint32_t *path;
	size_t path_capacity;
	struct span host;
	struct row_value values[ROW_COLUMNS];
	struct buffer stack;
	struct buffer made;	/* the text of the row's numbers and ids */
	size_t at[ROW_COLUMNS]; /* where a value begins in `made`, which may move until the row's
				   end; or NOT_MADE */
};

static void writer_release(struct writer *writer)
{
	free(writer->position);
	free(writer->images);
	free(writer->contexts);
	free(writer->nodes);
	frames_release(&writer->frames);
	free(writer->list.numbers);
	free(writer->first);
	free(writer->path);
	free(writer->spelled.frames);
	arena_release(&writer->spelled.arena);
	hash_index_release(&writer->spelled.frame_index);
	buffer_release(&writer->stack);
	buffer_release(&writer->made);
}

/* ---- values */

static void put_text(struct writer *writer, enum row_column column, struct span text)
{
	writer->values[column] = (struct row_value){ text.data ? ROW_TEXT : ROW_ABSENT, text };
	writer->at[column] = NOT_MADE;
}

static void put_word(struct writer *writer, enum row_column column, const char *text)
{
	put_text(writer, column, span_of_text(text));
}

static void put_absent(struct writer *writer, enum row_column column)
{
	put_word(writer, column, NULL);
}

/* The value of a column is what was appended to writer->made from `from` on. */
static void put_made(struct writer *writer, enum row_column column, enum row_kind kind, size_t from)
{
	writer->values[column] = (struct row_value){ kind, { NULL, writer->made.size - from } };
	writer->at[column] = from;
}

static void put_u64(struct writer *writer, enum row_column column, uint64_t value)
{
	size_t from = writer->made.size;
	figure_append_u64(&writer->made, value);
	put_made(writer, column, ROW_NUMBER, from);
}

static void put_optional(struct writer *writer, enum row_column column, uint64_t optional)
{
	put_absent(writer, column);
	if (optional != OPTIONAL_ABSENT)
		put_u64(writer, column, optional - 1);
}

static void put_hex(struct writer *writer, enum row_column column, const void *bytes, size_t size)
{
	size_t from = writer->made.size;
	buffer_append_hex(&writer->made, bytes, size);
	put_made(writer, column, ROW_TEXT, from);
}

static void put_id(struct writer *writer, enum row_column column, const struct hash128 *names,
		   uint64_t id)
{
	uint8_t bytes[16];
	put_absent(writer, column);
	if (!id)
		return;
	for (int i = 0; i < 8; i++) {
		bytes[i] = (uint8_t)(names[id - 1].high >> (56 - 8 * i));
		bytes[8 + i] = (uint8_t)(names[id - 1].low >> (56 - 8 * i));
	}
	put_hex(writer, column, bytes, sizeof(bytes));
}

/* ---- the parts of a row */

static void put_context(struct writer *writer, uint64_t id)
{
	struct profile_context context = { 0 };
	if (id)
		context = profile_context(writer->input->profile, id);
	put_text(writer, ROW_COMM, context.comm);
	put_text(writer, ROW_CGROUP, context.cgroup);
	put_text(writer, ROW_CONTAINER, context.container);
	put_optional(writer, ROW_PID, context.pid);
	put_optional(writer, ROW_START_NS, context.start_ns);
	put_optional(writer, ROW_TID, context.tid);
	put_text(writer, ROW_THREAD, context.thread);
	put_optional(writer, ROW_CPU, context.cpu);
	put_text(writer, ROW_CORE_TYPE, context.core_type);
	put_text(writer, ROW_LABELS, context.labels);
	put_id(writer, ROW_CONTEXT_ID, writer->contexts, id);
}

static void put_image(struct writer *writer, uint32_t id)
{
	static const char *const kinds[] = { NULL,  "file", "kernel",  "module", "vdso",
					     "bpf", "jit",  "unknown", "name" };
	struct profile_image image = { 0 };
	if (id)
		image = profile_image(writer->input->profile, id);
	put_word(writer, ROW_IMAGE, id ? resolver_image(writer->input->resolver, id) : NULL);
	put_word(writer, ROW_IMAGE_KIND, image.kind < COUNT_OF(kinds) ? kinds[image.kind] : NULL);
	put_absent(writer, ROW_BUILD_ID);
	if (image.build_id.size)
		put_hex(writer, ROW_BUILD_ID, image.build_id.data, image.build_id.size);
	char who[WRITER_TEXT_BYTES];
	writer_text(image.writer, who);
	size_t from = writer->made.size;
	put_absent(writer, ROW_WRITABLE_BY);
	buffer_append_text(&writer->made, who);
	if (*who)
		put_made(writer, ROW_WRITABLE_BY, ROW_TEXT, from);
	put_id(writer, ROW_IMAGE_ID, writer->images, id);
}

static int put_place(struct writer *writer, const struct profile_frame *frame)
{
	const struct place *place = resolver_place(writer->input->resolver, frame);
	if (!place)
		return -ENOMEM;
	const struct source_frame *sources;
	size_t count = resolver_source(writer->input->resolver, place, &sources);
	put_image(writer, frame->image);
	put_word(writer, ROW_PROCEDURE, place->procedure->name);
	put_absent(writer, ROW_VADDR);
	put_absent(writer, ROW_OFFSET);
	put_absent(writer, ROW_LINE);
	uint64_t vaddr = resolver_vaddr(writer->input->resolver, frame->image, frame->vaddr);
	if (!frame->name || vaddr)
		put_u64(writer, ROW_VADDR, vaddr);
	if (!frame->name && place->procedure->extent_known)
		put_u64(writer, ROW_OFFSET, vaddr - place->procedure->first);
	put_word(writer, ROW_FILE, count ? sources[0].file : NULL);
	if (count && sources[0].line)
		put_u64(writer, ROW_LINE, sources[0].line);
	return 0;
}

static void put_cell(struct writer *writer, const struct profile_event *event,
		     const struct cell *cell)
{
	double error = cell_standard_error(cell);
	size_t from = writer->made.size;
	put_text(writer, ROW_EVENT, event->name);
	put_text(writer, ROW_UNIT, event->unit);
	figure_append_estimate(&writer->made, cell->estimate, event->scale);
	put_made(writer, ROW_ESTIMATE, ROW_NUMBER, from);
	put_absent(writer, ROW_SAMPLES);
	put_absent(writer, ROW_STANDARD_ERROR);
	if (event->sampled)
		put_u64(writer, ROW_SAMPLES, cell->samples);
	if (error < 0)
		return;
	from = writer->made.size;
	buffer_printf(&writer->made, "%.9g", error / pow(10, fmin((double)event->scale, 300)));
	put_made(writer, ROW_STANDARD_ERROR, ROW_NUMBER, from);
}

static int put_stack(struct writer *writer, uint32_t node)
{
	size_t depth = 0;
	bool some = false;
	while (node) {
		if (array_reserve(&writer->path, &writer->path_capacity, depth,
				  sizeof(*writer->path)) < 0)
			return -ENOMEM;
		writer->path[depth++] = node;
		profile_node(writer->input->profile, node, &node);
	}
	writer->stack.size = 0;
	while (depth-- > 0) {
		uint32_t id = writer->path[depth];
		for (size_t i = writer->first[id]; i < writer->first[id + 1]; i++) {
			struct span text = writer->spelled.frames[writer->list.numbers[i]].text;
			if (some)
				buffer_append_u8(&writer->stack, ';');
			some = true;
			buffer_append(&writer->stack, text.data, text.size);
		}
	}
	put_text(writer, ROW_STACK, (struct span){ writer->stack.data, writer->stack.size });
	return buffer_failed(&writer->stack) ? -ENOMEM : 0;
}

/* ---- the rows */

/* Whether the row's event is chosen; if so, sets the columns of event and cell. */
static bool begin_row(struct writer *writer, uint64_t event, const uint64_t *values,
		      struct export_sums **sums)
{
	uint32_t column = writer->input->columns->of_event[event];
	uint32_t position = column == EVENT_COLUMN_NONE ? STACK_NONE : writer->position[column];
	if (position == STACK_NONE)
		return false;
	*sums = &writer->sums[position];
	const struct profile_event row = profile_event(writer->input->profile, event);
	const struct cell cell = cell_of_values(values);
	writer->made.size = 0;
	put_cell(writer, &row, &cell);
	return true;
}

static int end_row(struct writer *writer)
{
	if (buffer_failed(&writer->made))
		return -ENOMEM;
	for (size_t i = 0; i < ROW_COLUMNS; i++)
		if (writer->at[i] != NOT_MADE)
			writer->values[i].text.data = writer->made.data + writer->at[i];
	return writer->visit(writer->context, writer->values);
}

static int write_flat(struct writer *writer)
{
	const struct table *flat = profile_table(writer->input->profile, PROFILE_FLAT);
	int ret = 0;
	put_word(writer, ROW_RELATION, "flat");
	put_absent(writer, ROW_STACK);
	put_absent(writer, ROW_STACK_ID);
	for (size_t row = 0; ret == 0 && row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		const struct cell cell = cell_of_values(table_values(flat, row));
		struct export_sums *sums;
		if (!begin_row(writer, keys[FLAT_EVENT], table_values(flat, row), &sums))
			continue;
		const struct profile_frame frame = { .kind = FRAME_IP,
						     .image = (uint32_t)keys[FLAT_IMAGE],
						     .vaddr = keys[FLAT_VADDR],
						     .name = (uint32_t)keys[FLAT_NAME] };
		put_context(writer, keys[FLAT_CONTEXT]);
		ret = put_place(writer, &frame);
		if (ret == 0)
			ret = end_row(writer);
		cell_add(&sums->written, &cell);
	}
	return ret;
}

static int write_stacks(struct writer *writer)
{
	const struct table *stacks = profile_table(writer->input->profile, PROFILE_STACK);
	int ret = 0;
	put_word(writer, ROW_RELATION, "stack");
	for (size_t row = 0; ret == 0 && row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		struct export_sums *sums;
		if (!keys[STACK_NODE] ||
		    !begin_row(writer, keys[STACK_EVENT], table_values(stacks, row), &sums))
			continue;
		const struct profile_frame leaf =
			profile_node(writer->input->profile, keys[STACK_NODE], NULL);
		put_context(writer, keys[STACK_CONTEXT]);
		ret = put_place(writer, &leaf);
		if (ret == 0)
			ret = put_stack(writer, (uint32_t)keys[STACK_NODE]);
		put_id(writer, ROW_STACK_ID, writer->nodes, keys[STACK_NODE]);
		if (ret == 0)
			ret = end_row(writer);
		sums->has_stacks = true;
	}
	return ret;
}

/* ---- all together */

static int spell_nodes(struct writer *writer)
{
	size_t count = profile_table(writer->input->profile, PROFILE_NODE)->count;
	writer->first = calloc(count + 2, sizeof(*writer->first));
	if (!writer->first)
		return -ENOMEM;
	for (size_t id = 1; id <= count; id++) {
		struct profile_frame frame = profile_node(writer->input->profile, id, NULL);
		writer->first[id] = writer->list.count;
		if (frames_of_place(&writer->frames, &frame, &writer->list) < 0)
			return -ENOMEM;
	}
	writer->first[count + 1] = writer->list.count;
	return 0;
}

static int name_rows(const struct profile *profile, enum profile_table table,
		     struct hash128 **names)
{
	*names = calloc(profile_table(profile, table)->count + 1, sizeof(**names));
	return *names ? profile_stable_names(profile, table, *names) : -ENOMEM;
}

/* The host of all sources, or absent. */
static struct span only_host(const struct profile *profile)
{
	size_t count = profile_table(profile, PROFILE_SOURCE)->count;
	struct span host = { NULL, 0 };
	for (size_t row = 0; row < count; row++) {
		struct span one = profile_source(profile, row).host;
		if (row && !span_equal(one, host))
			return (struct span){ NULL, 0 };
		host = one;
	}
	return host;
}

static int writer_init(struct writer *writer)
{
	const struct export_input *input = writer->input;
	size_t columns = input->columns->count + 1;
	writer->position = malloc(columns * sizeof(*writer->position));
	if (!writer->position)
		return -ENOMEM;
	memset(writer->position, 0xff, columns * sizeof(*writer->position)); /* STACK_NONE */
	for (size_t i = 0; i < input->chosen_count; i++) {
		writer->position[input->chosen[i]] = (uint32_t)i;
		writer->sums[i] = (struct export_sums){ 0 };
	}
	put_text(writer, ROW_HOST, only_host(input->profile));
	int ret = name_rows(input->profile, PROFILE_IMAGE, &writer->images);
	if (ret == 0)
		ret = name_rows(input->profile, PROFILE_CONTEXT, &writer->contexts);
	if (ret == 0)
		ret = name_rows(input->profile, PROFILE_NODE, &writer->nodes);
	return ret == 0 ? spell_nodes(writer) : ret;
}

int rows_each(const struct export_input *input, rows_visit visit, void *context,
	      struct export_sums *sums)
{
	CLEANUP(writer_release)
	struct writer writer = { .input = input, .visit = visit, .context = context, .sums = sums };
	writer.frames = (struct frames){ .input = input,
					 .grain = STACKS_BY_TEXT,
					 .stacks = &writer.spelled };
	int ret = writer_init(&writer);
	if (ret == 0)
		ret = write_flat(&writer);
	if (ret == 0)
		ret = write_stacks(&writer);
	return ret;
}
