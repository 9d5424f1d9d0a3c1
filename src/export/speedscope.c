#include "export/speedscope.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "export/figure.h"
#include "export/sink.h"
#include "export/stacks.h"
#include "import/folded/folded_name.h"

struct writer {
	const struct export_input *input;
	struct stacks *stacks;
	struct sink *sink;
	struct json_stream json;
};

/* Weights of other units than those of the format's list have none. */
static const char *unit_of(const struct event_column *event)
{
	static const struct {
		const char *unit, *word;
	} words[] = { { "ns", "nanoseconds" },
		      { "us", "microseconds" },
		      { "ms", "milliseconds" },
		      { "s", "seconds" },
		      { "bytes", "bytes" } };
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (span_equal(event->unit, span_of_text(words[i].unit)))
			return words[i].word;
	return "none";
}

static int write_frames(struct writer *writer)
{
	struct json_stream *json = &writer->json;
	CLEANUP(buffer_release) struct buffer name = { 0 };
	int ret = 0;
	json_stream_open(json, "shared", '{', JSON_LINES);
	json_stream_open(json, "frames", '[', JSON_LINES);
	for (size_t i = 0; ret == 0 && i < writer->stacks->frame_count; i++) {
		const struct stack_frame *frame = &writer->stacks->frames[i];
		buffer_empty(&name);
		folded_decode_name(&name, frame->text);
		json_stream_open(json, NULL, '{', JSON_ONE_LINE);
		json_stream_text(json, "name", buffer_text(&name));
		if (frame->file)
			json_stream_text(json, "file", frame->file);
		if (frame->line)
			json_stream_u64(json, "line", frame->line);
		json_stream_close(json, '}');
		ret = sink_flush_some(writer->sink);
	}
	json_stream_close(json, ']');
	json_stream_close(json, '}');
	return ret;
}

static int write_stacks(struct writer *writer, size_t c)
{
	struct json_stream *json = &writer->json;
	int ret = 0;
	json_stream_open(json, "samples", '[', JSON_LINES);
	for (size_t i = 0; ret == 0 && i < writer->stacks->line_count; i++) {
		if (stacks_cells(writer->stacks, i)[c].estimate == 0)
			continue;
		size_t depth;
		const uint32_t *path = stacks_path(writer->stacks, i, &depth);
		json_stream_open(json, NULL, '[', JSON_ONE_LINE);
		for (size_t at = 0; at < depth; at++)
			json_stream_u64(json, NULL, path[at]);
		json_stream_close(json, ']');
		ret = sink_flush_some(writer->sink);
	}
	json_stream_close(json, ']');
	return ret;
}

static int write_weights(struct writer *writer, size_t c, uint64_t scale)
{
	struct json_stream *json = &writer->json;
	int ret = 0;
	json_stream_open(json, "weights", '[', JSON_ONE_LINE);
	for (size_t i = 0; ret == 0 && i < writer->stacks->line_count; i++) {
		uint64_t estimate = stacks_cells(writer->stacks, i)[c].estimate;
		if (estimate == 0)
			continue;
		json_stream_key(json, NULL);
		figure_append_estimate(json->out, estimate, scale);
		ret = sink_flush_some(writer->sink);
	}
	json_stream_close(json, ']');
	return ret;
}

static int write_event(struct writer *writer, size_t c, const struct export_sums *sums)
{
	const struct event_column *event = &writer->input->columns->list[writer->input->chosen[c]];
	struct json_stream *json = &writer->json;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "type", "sampled");
	json_stream_span(json, "name", event->name);
	json_stream_text(json, "unit", unit_of(event));
	json_stream_u64(json, "startValue", 0);
	json_stream_key(json, "endValue");
	figure_append_estimate(json->out, sums->written.estimate, event->scale);
	int ret = write_stacks(writer, c);
	if (ret == 0)
		ret = write_weights(writer, c, event->scale);
	json_stream_close(json, '}');
	return ret;
}

static int write_document(struct writer *writer, const struct export_sums *sums)
{
	struct json_stream *json = &writer->json;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_stream_text(json, "exporter", "culprit");
	int ret = write_frames(writer);
	json_stream_open(json, "profiles", '[', JSON_LINES);
	for (size_t c = 0; ret == 0 && c < writer->input->chosen_count; c++)
		ret = write_event(writer, c, &sums[c]);
	json_stream_close(json, ']');
	json_stream_end(json, '}');
	return ret;
}

static int write_speedscope(const struct export_input *input, struct sink *sink,
			    struct export_sums *sums, struct error *err)
{
	CLEANUP(stacks_freep) struct stacks *stacks = NULL;
	int ret = stacks_new(input, STACKS_BY_SOURCE, sums, &stacks);
	struct writer writer = {
		.input = input, .stacks = stacks, .sink = sink, .json = { .out = &sink->buffer }
	};
	if (ret == 0)
		ret = write_document(&writer, sums);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing stacks") : ret;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.what = "for speedscope.app",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_ROOT | EXPORT_USES_MARKS | EXPORT_USES_INLINED,
	.write = write_speedscope,
};
