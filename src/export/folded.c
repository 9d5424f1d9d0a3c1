#include "export/folded.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "export/figure.h"
#include "export/sink.h"
#include "export/stacks.h"

/* The text of the line before: the next line begins with most of it. */
struct line_text {
	struct buffer text;
	uint32_t *frames;
	size_t *ends; /* of frames[i] in the text */
	size_t depth, capacity;
};

static void line_text_release(struct line_text *line)
{
	buffer_release(&line->text);
	free(line->frames);
	free(line->ends);
}

static int reserve(struct line_text *line, size_t depth)
{
	if (depth <= line->capacity)
		return 0;
	size_t capacity = depth > 2 * line->capacity ? depth : 2 * line->capacity;
	uint32_t *frames = reallocarray(line->frames, capacity, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	line->frames = frames;
	size_t *ends = reallocarray(line->ends, capacity, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	line->ends = ends;
	line->capacity = capacity;
	return 0;
}

static int spell_line(struct line_text *line, struct stacks *stacks, size_t i)
{
	size_t depth, same = 0;
	const uint32_t *path = stacks_path(stacks, i, &depth);
	if (reserve(line, depth) < 0)
		return -ENOMEM;
	while (same < depth && same < line->depth && line->frames[same] == path[same])
		same++;
	line->text.size = same ? line->ends[same - 1] : 0;
	for (size_t at = same; at < depth; at++) {
		struct span text = stacks->frames[path[at]].text;
		if (at)
			buffer_append_u8(&line->text, ';');
		buffer_append(&line->text, text.data, text.size);
		line->frames[at] = path[at];
		line->ends[at] = line->text.size;
	}
	line->depth = depth;
	return buffer_failed(&line->text) ? -ENOMEM : 0;
}

static int write_lines(const struct export_input *input, struct stacks *stacks, struct sink *sink)
{
	CLEANUP(line_text_release) struct line_text line = { 0 };
	struct buffer *out = &sink->buffer;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < stacks->line_count; i++) {
		const struct cell *cells = stacks_cells(stacks, i);
		ret = spell_line(&line, stacks, i);
		if (ret < 0)
			break;
		buffer_append(out, line.text.data, line.text.size);
		for (size_t c = 0; c < input->chosen_count; c++) {
			uint64_t scale = input->columns->list[input->chosen[c]].scale;
			buffer_append_u8(out, ' ');
			if (input->options.count == EXPORT_SAMPLES)
				figure_append_u64(out, cells[c].samples);
			else
				figure_append_estimate(out, cells[c].estimate, scale);
		}
		buffer_append_u8(out, '\n');
		ret = sink_flush_some(sink);
	}
	return ret;
}

static int write_folded(const struct export_input *input, struct sink *sink,
			struct export_sums *sums, struct error *err)
{
	CLEANUP(stacks_freep) struct stacks *stacks = NULL;
	for (size_t c = 0; c < input->chosen_count; c++) {
		const struct event_column *event = &input->columns->list[input->chosen[c]];
		if (input->options.count == EXPORT_SAMPLES && !event->sampled)
			return error_set(err, -ENODATA,
					 "event '%.*s' has counts only, no samples of its own",
					 (int)event->name.size, (const char *)event->name.data);
	}
	int ret = stacks_new(input, STACKS_BY_TEXT, sums, &stacks);
	if (ret == 0)
		ret = write_lines(input, stacks, sink);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing stacks") : ret;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.what = "stacks as text, one a line, as flamegraph.pl reads it",
	.most_events = 2,
	.uses = EXPORT_USES_COUNT | EXPORT_USES_ROOT | EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_folded,
};
