#include "support/imported.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void imported_say(void *messages, enum import_remark kind, const char *sentence)
{
	if (messages)
		buffer_printf(messages, "%s: %s\n", kind == IMPORT_WARNING ? "warning" : "note",
			      sentence);
}

int imported(const struct importer *format, struct span text, size_t piece,
	     const struct import_options *options, struct profile **out, struct error *err)
{
	void *reader = NULL;
	int ret = format->open(options, &reader);
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	for (size_t at = 0; at < text.size && ret == 0; at += piece) {
		size_t size = text.size - at < piece ? text.size - at : piece;
		void *bytes = malloc(size);
		if (bytes)
			memcpy(bytes, (const char *)text.data + at, size);
		ret = bytes ? format->feed(reader, bytes, size, err)
			    : error_set(err, -ENOMEM, "out of memory");
		free(bytes);
		if (size < piece)
			break;
	}
	if (ret == 0)
		ret = format->finish(reader, out, err);
	format->close(reader);
	return ret;
}

static void append_span(struct buffer *out, struct span text)
{
	buffer_append(out, text.data, text.size);
}

static void append_frame(const struct profile *profile, const struct profile_frame *frame,
			 struct buffer *out)
{
	if (frame->image) {
		struct profile_image image = profile_image(profile, frame->image);
		if (image.kind == IMAGE_UNKNOWN)
			buffer_append_text(out, "?");
		append_span(out, image.name);
		buffer_append_u8(out, '!');
	}
	if (frame->name)
		append_span(out, profile_bytes(profile, frame->name));
	else
		buffer_printf(out, "0x%" PRIx64, frame->vaddr);
}

/* Root first. */
static void append_path(const struct profile *profile, uint64_t node, struct buffer *out)
{
	uint32_t parent;
	struct profile_frame frame = profile_node(profile, node, &parent);
	if (parent) {
		append_path(profile, parent, out);
		buffer_append_u8(out, '|');
	}
	append_frame(profile, &frame, out);
}

static void append_context(const struct profile *profile, uint64_t id, struct buffer *out)
{
	if (!id)
		return;
	struct profile_context context = profile_context(profile, id);
	buffer_append_u8(out, '[');
	append_span(out, context.comm);
	if (context.pid)
		buffer_printf(out, " %" PRIu64, context.pid - 1);
	if (context.tid)
		buffer_printf(out, " %" PRIu64, context.tid - 1);
	buffer_append_text(out, "] ");
}

static void append_values(const struct profile_event *event, const uint64_t *values,
			  struct buffer *out)
{
	if (event->sampled)
		buffer_printf(out, " %" PRIu64, values[CELL_SAMPLES]);
	else
		buffer_append_text(out, " -");
	buffer_printf(out, " %" PRIu64, values[CELL_ESTIMATE]);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void append_sorted(char **lines, size_t count, struct buffer *out)
{
	if (count)
		qsort(lines, count, sizeof(*lines), compare_texts);
	for (size_t i = 0; i < count; i++) {
		buffer_printf(out, "%s\n", lines[i]);
		free(lines[i]);
	}
	free(lines);
	buffer_text(out);
}

static void append_start(const struct profile *profile, uint64_t event, uint64_t context,
			 struct buffer *out)
{
	append_span(out, profile_event(profile, event).name);
	buffer_append_u8(out, ' ');
	append_context(profile, context, out);
}

void imported_stacks(const struct profile *profile, struct buffer *out)
{
	const struct table *table = profile_table(profile, PROFILE_STACK);
	char **lines = calloc(table->count + 1, sizeof(*lines));
	for (size_t row = 0; row < table->count; row++) {
		struct buffer line = { 0 };
		const uint64_t *keys = table_keys(table, row);
		struct profile_event event = profile_event(profile, keys[STACK_EVENT]);
		append_start(profile, keys[STACK_EVENT], keys[STACK_CONTEXT], &line);
		append_path(profile, keys[STACK_NODE], &line);
		append_values(&event, table_values(table, row), &line);
		buffer_text(&line);
		lines[row] = (char *)line.data;
	}
	append_sorted(lines, table->count, out);
}

void imported_leaves(const struct profile *profile, struct buffer *out)
{
	const struct table *table = profile_table(profile, PROFILE_FLAT);
	char **lines = calloc(table->count + 1, sizeof(*lines));
	for (size_t row = 0; row < table->count; row++) {
		struct buffer line = { 0 };
		const uint64_t *keys = table_keys(table, row);
		struct profile_event event = profile_event(profile, keys[FLAT_EVENT]);
		const struct profile_frame frame = { .image = (uint32_t)keys[FLAT_IMAGE],
						     .vaddr = keys[FLAT_VADDR],
						     .name = (uint32_t)keys[FLAT_NAME] };
		append_start(profile, keys[FLAT_EVENT], keys[FLAT_CONTEXT], &line);
		append_frame(profile, &frame, &line);
		append_values(&event, table_values(table, row), &line);
		buffer_text(&line);
		lines[row] = (char *)line.data;
	}
	append_sorted(lines, table->count, out);
}
