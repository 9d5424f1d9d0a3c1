#include "export/folded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/resolve.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/folded_name.h"

/* A piece of text in one large buffer; positions, because the buffer moves. */
struct piece {
	size_t at, size;
};

struct line {
	struct piece text;
	struct cell cell;
};

struct writer {
	const struct profile *profile;
	struct resolver *resolver;
	const struct folded_export_options *options;
	struct buffer texts;
	struct piece *nodes;	/* by node id: its own frame, inlined ones too */
	struct piece *contexts; /* by context id: the first frame, or nothing */
	struct line *lines;
	size_t line_count, line_capacity;
};

static void writer_release(struct writer *writer)
{
	buffer_release(&writer->texts);
	free(writer->nodes);
	free(writer->contexts);
	free(writer->lines);
}

static void append_name(struct writer *writer, const char *name)
{
	folded_encode_name(&writer->texts, span_of_text(name));
}

/* The mark that stackcollapse-perf.pl puts behind such a name, or "". */
static const char *mark_of(const struct writer *writer, const struct procedure *procedure)
{
	if (!procedure->image)
		return "";
	switch (profile_image(writer->profile, procedure->image).kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		return writer->options->marks & FOLDED_MARK_KERNEL ? "_[k]" : "";
	case IMAGE_JIT:
		return writer->options->marks & FOLDED_MARK_JIT ? "_[j]" : "";
	}
	return "";
}

/* Spells a frame: the procedure, then what was inlined there, outermost first. */
static int spell_frame(struct writer *writer, const struct profile_frame *frame,
		       struct piece *piece)
{
	const struct place *place = resolver_place(writer->resolver, frame);
	if (!place)
		return -ENOMEM;
	piece->at = writer->texts.size;
	append_name(writer, place->procedure->name);
	buffer_append_text(&writer->texts, mark_of(writer, place->procedure));
	if (writer->options->marks & FOLDED_INLINED) {
		const struct source_frame *frames;
		size_t count = resolver_source(writer->resolver, place, &frames);
		for (size_t i = count; i-- > 0;) {
			if (!frames[i].function)
				continue;
			buffer_append_u8(&writer->texts, ';');
			append_name(writer, frames[i].function);
			buffer_append_text(&writer->texts, "_[i]");
		}
	}
	piece->size = writer->texts.size - piece->at;
	return buffer_failed(&writer->texts) ? -ENOMEM : 0;
}

static void append_number(struct writer *writer, uint64_t optional)
{
	if (optional == OPTIONAL_ABSENT)
		buffer_append_u8(&writer->texts, '?');
	else
		buffer_printf(&writer->texts, "%llu", (unsigned long long)(optional - 1));
}

static int spell_contexts(struct writer *writer)
{
	enum folded_root root = writer->options->root;
	size_t count = profile_table(writer->profile, PROFILE_CONTEXT)->count;
	writer->contexts = calloc(count + 1, sizeof(*writer->contexts));
	if (!writer->contexts)
		return -ENOMEM;
	for (size_t id = 1; id <= count && root != FOLDED_ROOT_NONE; id++) {
		struct profile_context context = profile_context(writer->profile, id);
		struct piece *piece = &writer->contexts[id];
		if (!context.comm.data)
			continue;
		piece->at = writer->texts.size;
		folded_encode_name(&writer->texts, context.comm);
		if (root == FOLDED_ROOT_PID || root == FOLDED_ROOT_TID) {
			buffer_append_u8(&writer->texts, '-');
			append_number(writer, context.pid);
		}
		if (root == FOLDED_ROOT_TID) {
			buffer_append_u8(&writer->texts, '/');
			append_number(writer, context.tid);
		}
		piece->size = writer->texts.size - piece->at;
	}
	return buffer_failed(&writer->texts) ? -ENOMEM : 0;
}

static struct line *new_line(struct writer *writer, const uint64_t *values)
{
	if (array_reserve(&writer->lines, &writer->line_capacity, writer->line_count,
			  sizeof(*writer->lines)) < 0)
		return NULL;
	struct line *line = &writer->lines[writer->line_count++];
	*line = (struct line){ .text = { writer->texts.size, 0 }, .cell = cell_of_values(values) };
	return line;
}

/* Pieces come before the text that is being written, so the copy can't overlap. */
static void append_piece(struct writer *writer, const struct piece *piece)
{
	uint8_t *room = buffer_extend(&writer->texts, piece->size);
	if (room)
		memcpy(room, writer->texts.data + piece->at, piece->size);
}

/* A first frame may be an empty name, so what is before decides about the ';'. */
static void append_frame(struct writer *writer, const struct piece *piece, size_t *frames)
{
	if ((*frames)++)
		buffer_append_u8(&writer->texts, ';');
	append_piece(writer, piece);
}

static int add_stacks(struct writer *writer, const struct event_columns *columns, size_t column)
{
	const struct table *nodes = profile_table(writer->profile, PROFILE_NODE);
	const struct table *stacks = profile_table(writer->profile, PROFILE_STACK);
	CLEANUP(free_pointer) uint32_t *path = NULL;
	size_t path_capacity = 0;
	writer->nodes = calloc(nodes->count + 1, sizeof(*writer->nodes));
	CLEANUP(free_pointer) bool *spelled = calloc(nodes->count + 1, sizeof(*spelled));
	if (!writer->nodes || !spelled)
		return -ENOMEM;
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		if (columns->of_event[keys[STACK_EVENT]] != column || !keys[STACK_NODE])
			continue;
		size_t depth = 0;
		for (uint32_t node = (uint32_t)keys[STACK_NODE]; node;) {
			if (array_reserve(&path, &path_capacity, depth, sizeof(*path)) < 0)
				return -ENOMEM;
			path[depth++] = node;
			uint32_t parent;
			struct profile_frame frame = profile_node(writer->profile, node, &parent);
			if (!spelled[node] && spell_frame(writer, &frame, &writer->nodes[node]) < 0)
				return -ENOMEM;
			spelled[node] = true;
			node = parent;
		}
		struct line *line = new_line(writer, table_values(stacks, row));
		if (!line)
			return -ENOMEM;
		size_t frames = 0;
		if (writer->contexts[keys[STACK_CONTEXT]].size)
			append_frame(writer, &writer->contexts[keys[STACK_CONTEXT]], &frames);
		while (depth > 0)
			append_frame(writer, &writer->nodes[path[--depth]], &frames);
		line->text.size = writer->texts.size - line->text.at;
	}
	return buffer_failed(&writer->texts) ? -ENOMEM : 0;
}

/* Without stacks: command, image, procedure. */
static int add_leaves(struct writer *writer, const struct event_columns *columns, size_t column)
{
	const struct table *flat = profile_table(writer->profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		if (columns->of_event[keys[FLAT_EVENT]] != column)
			continue;
		const struct profile_frame frame = { .kind = FRAME_IP,
						     .image = (uint32_t)keys[FLAT_IMAGE],
						     .vaddr = keys[FLAT_VADDR],
						     .name = (uint32_t)keys[FLAT_NAME] };
		struct piece leaf, image = { 0 };
		int ret = spell_frame(writer, &frame, &leaf);
		const char *image_name = resolver_image(writer->resolver, frame.image);
		if (ret < 0 || !image_name)
			return -ENOMEM;
		image.at = writer->texts.size;
		append_name(writer, image_name);
		image.size = writer->texts.size - image.at;
		struct line *line = new_line(writer, table_values(flat, row));
		if (!line)
			return -ENOMEM;
		size_t frames = 0;
		if (writer->contexts[keys[FLAT_CONTEXT]].size)
			append_frame(writer, &writer->contexts[keys[FLAT_CONTEXT]], &frames);
		if (image.size)
			append_frame(writer, &image, &frames);
		append_frame(writer, &leaf, &frames);
		line->text.size = writer->texts.size - line->text.at;
	}
	return buffer_failed(&writer->texts) ? -ENOMEM : 0;
}

static struct span text_of(const struct writer *writer, const struct line *line)
{
	return (struct span){ writer->texts.data + line->text.at, line->text.size };
}

static int compare_lines(const void *a, const void *b, void *writer)
{
	return span_compare(text_of(writer, a), text_of(writer, b));
}

static void sort_and_merge(struct writer *writer)
{
	size_t count = 0;
	if (writer->line_count)
		qsort_r(writer->lines, writer->line_count, sizeof(*writer->lines), compare_lines,
			writer);
	for (size_t i = 0; i < writer->line_count; i++) {
		if (count &&
		    compare_lines(&writer->lines[count - 1], &writer->lines[i], writer) == 0)
			cell_add(&writer->lines[count - 1].cell, &writer->lines[i].cell);
		else
			writer->lines[count++] = writer->lines[i];
	}
	writer->line_count = count;
}

/* An estimate in steps of 10^-scale, without needless zeros: 31230 and 3 are 31.23. */
static void append_estimate(struct buffer *out, uint64_t estimate, uint64_t scale)
{
	char digits[32];
	uint64_t divisor = 1;
	for (uint64_t i = 0; i < scale && i < 19; i++)
		divisor *= 10;
	buffer_printf(out, "%llu", (unsigned long long)(estimate / divisor));
	uint64_t fraction = estimate % divisor;
	if (!fraction)
		return;
	int width = (int)(scale < 19 ? scale : 19);
	int length =
		snprintf(digits, sizeof(digits), ".%0*llu", width, (unsigned long long)fraction);
	while (digits[length - 1] == '0')
		length--;
	buffer_append(out, digits, (size_t)length);
}

static void sum_event(const struct table *table, size_t event_slot,
		      const struct event_columns *columns, size_t column, struct cell *sum)
{
	for (size_t row = 0; row < table->count; row++)
		if (columns->of_event[table_keys(table, row)[event_slot]] == column) {
			struct cell cell = cell_of_values(table_values(table, row));
			cell_add(sum, &cell);
		}
}

static bool has_stacks(const struct profile *profile, const struct event_columns *columns,
		       size_t column)
{
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	for (size_t row = 0; row < stacks->count; row++)
		if (columns->of_event[table_keys(stacks, row)[STACK_EVENT]] == column &&
		    table_keys(stacks, row)[STACK_NODE])
			return true;
	return false;
}

static int print_lines(struct writer *writer, const struct event_column *column, struct buffer *out,
		       struct folded_export_sums *sums)
{
	for (size_t i = 0; i < writer->line_count; i++) {
		const struct line *line = &writer->lines[i];
		struct span text = text_of(writer, line);
		buffer_append(out, text.data, text.size);
		buffer_append_u8(out, ' ');
		if (writer->options->count == FOLDED_SAMPLES)
			buffer_printf(out, "%llu", (unsigned long long)line->cell.samples);
		else
			append_estimate(out, line->cell.estimate, column->scale);
		buffer_append_u8(out, '\n');
		cell_add(&sums->written, &line->cell);
	}
	sums->lines = writer->line_count;
	return buffer_failed(out) ? -ENOMEM : 0;
}

int folded_export(const struct profile *profile, struct resolver *resolver,
		  const struct event_columns *columns, size_t column,
		  const struct folded_export_options *options, struct buffer *out,
		  struct folded_export_sums *sums, struct error *err)
{
	const struct event_column *event = &columns->list[column];
	CLEANUP(writer_release)
	struct writer writer = { .profile = profile, .resolver = resolver, .options = options };
	*sums = (struct folded_export_sums){ 0 };
	if (options->count == FOLDED_SAMPLES && !event->sampled)
		return error_set(err, -ENODATA,
				 "event '%.*s' has counts only, no samples of its own",
				 (int)event->name.size, (const char *)event->name.data);
	sums->has_stacks = has_stacks(profile, columns, column);
	int ret = spell_contexts(&writer);
	if (ret == 0)
		ret = sums->has_stacks ? add_stacks(&writer, columns, column)
				       : add_leaves(&writer, columns, column);
	if (ret == 0) {
		sort_and_merge(&writer);
		ret = print_lines(&writer, event, out, sums);
	}
	if (ret < 0)
		return error_set(err, ret, "out of memory writing stacks");
	sum_event(profile_table(profile, PROFILE_FLAT), FLAT_EVENT, columns, column,
		  &sums->missing);
	sums->missing = cell_without(&sums->missing, &sums->written);
	return 0;
}
