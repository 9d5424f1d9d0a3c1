#include "render/summary_json.h"

#include <math.h>

#include "base/json_stream.h"

static void add_bounds(struct json_stream *json, double low, double high)
{
	json_stream_double(json, "low", low);
	json_stream_double(json, "high", high);
}

static void add_dynamics(struct json_stream *json, const struct summary *summary)
{
	json_stream_open(json, "dynamic", '{', JSON_LINES);
	for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++) {
		json_stream_open(json, dynamic_cause_key(cause), '{', JSON_LINES);
		add_bounds(json, summary->dynamics[cause].low, summary->dynamics[cause].high);
		json_stream_close(json, '}');
	}
	json_stream_double(json, "unexplained_stall", summary->unexplained_stall);
	json_stream_double(json, "unexplained_gain", summary->unexplained_gain);
	json_stream_double(json, "subtotal", summary_dynamic_cycles(summary));
	json_stream_close(json, '}');
}

static void add_statics(struct json_stream *json, const struct summary *summary)
{
	json_stream_open(json, "static", '{', JSON_LINES);
	for (enum static_cause cause = STATIC_NONE + 1; cause < STATIC_CAUSES; cause++)
		json_stream_double(json, static_cause_key(cause), summary->statics[cause]);
	json_stream_double(json, "subtotal", summary_static_cycles(summary));
	json_stream_close(json, '}');
}

static void add_culprits(struct json_stream *json, const struct summary_stall *stall)
{
	json_stream_open(json, "culprits", '[', JSON_LINES);
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct summary_culprit *culprit = &stall->culprits[c];
		json_stream_open(json, NULL, '{', JSON_LINES);
		add_bounds(json, culprit->low, culprit->high);
		json_stream_text(json, "cause", dynamic_cause_key(culprit->cause));
		if (culprit->vaddr)
			json_stream_hex(json, "vaddr", culprit->vaddr);
		else
			json_stream_null(json, "vaddr");
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_worst(struct json_stream *json, const struct summary *summary,
		      const struct annotate_index *index)
{
	json_stream_open(json, "worst_stalls", '[', JSON_LINES);
	for (size_t i = 0; i < summary->worst_count; i++) {
		const struct summary_stall *stall = &summary->worst[i];
		const struct annotate_procedure *procedure = &index->procedures[stall->position];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "procedure", procedure->procedure->name);
		json_stream_text(json, "image",
				 procedure->image_name[0] ? procedure->image_name : NULL);
		json_stream_hex(json, "vaddr", stall->vaddr);
		json_stream_text(json, "instruction", stall->code[0] ? stall->code : NULL);
		json_stream_text(json, "file", stall->file);
		json_stream_known(json, "line", stall->file && stall->line, stall->line);
		json_stream_double(json, "cycles", stall->cycles);
		json_stream_double(json, "cycles_low", stall->low);
		json_stream_double(json, "cycles_high", stall->high);
		json_stream_double(json, "executions", stall->executed);
		json_stream_double(json, "unexplained", stall->unexplained_cycles);
		add_culprits(json, stall);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_notes(struct json_stream *json, const struct cycles *cycles,
		      const char *const *notes, size_t note_count)
{
	json_stream_open(json, "notes", '[', JSON_LINES);
	const char *const *own;
	size_t own_count = cycles_notes(cycles, &own);
	for (size_t i = 0; i < own_count; i++)
		json_stream_text(json, NULL, own[i]);
	for (size_t i = 0; i < note_count; i++)
		json_stream_text(json, NULL, notes[i]);
	json_stream_close(json, ']');
}

void summary_json(const struct summary *summary, const struct cycles *cycles,
		  const char *const *notes, size_t note_count, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	const struct event_column *time =
		&cycles_index(cycles)->columns->list[cycles_events(cycles)->time];
	const struct pipeline *pipeline = cycles_pipeline(cycles)->pipeline;
	json_stream_u64(json, "schema", 1);
	json_stream_span(json, "event", time->name);
	json_stream_span(json, "unit", time->unit);
	json_stream_text(json, "processor", pipeline->name);
	json_stream_bool(json, "in_order", pipeline->in_order);
	json_stream_double(json, "samples", summary->samples);
	json_stream_double(json, "total", summary->total);
	json_stream_double(json, "whole_profile", summary->whole_profile);
	json_stream_u64(json, "procedures", summary->procedures);
	json_stream_u64(json, "unknown_procedures", summary->unknown_procedures);
	json_stream_u64(json, "relative_procedures", summary->relative_procedures);
	add_dynamics(json, summary);
	add_statics(json, summary);
	json_stream_double(json, "total_stall",
			   summary_dynamic_cycles(summary) + summary_static_cycles(summary));
	json_stream_double(json, "execution", summary->issue_cycles);
	json_stream_double(json, "net_sampling_error", summary->noise_cycles);
	json_stream_double(json, "delayed_interrupts", summary->late_cycles);
	json_stream_double(json, "unknown", summary->unknown_cycles);
	json_stream_double(json, "total_tallied", summary_tallied(summary));
	json_stream_double(json, "idle", summary->idle_cycles);
	json_stream_double(json, "causes_per_stall",
			   summary->stalls > 0 ? summary->causes / summary->stalls : NAN);
	add_worst(json, summary, cycles_index(cycles));
	add_notes(json, cycles, notes, note_count);
	json_stream_end(json, '}');
}
