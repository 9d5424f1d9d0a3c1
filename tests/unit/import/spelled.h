/*
 * spelled - for tests: what a profile holds, as sorted lines of text.
 */
#pragma once

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "profile/profile.h"

static inline int spelled_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text, sorted, in a text to free. */
static inline char *spelled_sort(struct buffer *text)
{
	size_t count = 0;
	buffer_text(text);
	char *copy = strdup((const char *)text->data);
	char **lines = calloc(text->size + 1, sizeof(*lines));
	char *rest = NULL;
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		lines[count++] = line;
	if (count)
		qsort(lines, count, sizeof(*lines), spelled_compare);
	struct buffer out = { 0 };
	for (size_t i = 0; i < count; i++)
		buffer_printf(&out, "%s\n", lines[i]);
	buffer_text(&out);
	free(lines);
	free(copy);
	buffer_release(text);
	return (char *)out.data;
}

static inline void spell_frame(const struct profile *profile, struct resolver *resolver,
			       const struct profile_frame *frame, struct buffer *out)
{
	struct span name = profile_bytes(profile, frame->name);
	const struct place *place = resolver_place(resolver, frame);
	const struct source_frame *source;
	size_t count = resolver_source(resolver, place, &source);
	buffer_append(out, name.data, name.size);
	for (size_t i = count; i-- > 0;)
		if (source[i].function)
			buffer_printf(out, ">%s", source[i].function);
	if (frame->image || frame->vaddr)
		buffer_printf(out, "@%s+%" PRIx64, resolver_image(resolver, frame->image),
			      frame->vaddr - (frame->kind == FRAME_RETURN));
}

/* "EVENT FRAME;FRAME SAMPLES ESTIMATE", outermost first; a FRAME is "name>inlined@image+vaddr", of
 * a return address less one. To free. */
static inline char *spell_stacks(const struct profile *profile)
{
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	const struct resolver_options options = { .stash_only = true };
	struct buffer out = { 0 };
	if (resolver_new(profile, &options, &resolver, NULL) < 0)
		abort();
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		struct cell cell = cell_of_values(table_values(stacks, row));
		struct span event = profile_event(profile, keys[STACK_EVENT]).name;
		struct profile_frame frames[256];
		size_t depth = 0;
		for (uint64_t node = keys[STACK_NODE]; node && depth < 256;) {
			uint32_t parent;
			frames[depth++] = profile_node(profile, node, &parent);
			node = parent;
		}
		buffer_printf(&out, "%.*s ", (int)event.size, (const char *)event.data);
		for (size_t i = depth; i-- > 0;) {
			spell_frame(profile, resolver, &frames[i], &out);
			buffer_append_text(&out, i ? ";" : " ");
		}
		buffer_printf(&out, "%" PRIu64 " %" PRIu64 "\n", cell.samples, cell.estimate);
	}
	return spelled_sort(&out);
}

#define expect_stacks(profile, wanted)                                                             \
	do {                                                                                       \
		char *spelled = spell_stacks(profile);                                             \
		CLEANUP(buffer_release) struct buffer expected = { 0 };                            \
		buffer_append_text(&expected, wanted);                                             \
		char *expected_lines = spelled_sort(&expected);                                    \
		assert_string_equal(spelled, expected_lines);                                      \
		free(spelled);                                                                     \
		free(expected_lines);                                                              \
	} while (0)
