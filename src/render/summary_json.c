#include "render/summary_json.h"

#include <math.h>

#include "render/json_value.h"

static struct json_object *range(struct json_writer *writer, double low, double high)
{
	struct json_object *object = json_new_object(writer);
	json_add_double(writer, object, "low", low);
	json_add_double(writer, object, "high", high);
	return object;
}

static struct json_object *dynamics(struct json_writer *writer, const struct summary *summary)
{
	struct json_object *object = json_new_object(writer);
	for (enum dynamic_cause cause = 0; cause < DYNAMIC_CAUSES; cause++)
		json_add(
			writer, object, dynamic_cause_key(cause),
			range(writer, summary->dynamics[cause].low, summary->dynamics[cause].high));
	json_add_double(writer, object, "unexplained_stall", summary->unexplained_stall);
	json_add_double(writer, object, "unexplained_gain", summary->unexplained_gain);
	json_add_double(writer, object, "subtotal", summary_dynamic_cycles(summary));
	return object;
}

static struct json_object *statics(struct json_writer *writer, const struct summary *summary)
{
	struct json_object *object = json_new_object(writer);
	for (enum static_cause cause = STATIC_NONE + 1; cause < STATIC_CAUSES; cause++)
		json_add_double(writer, object, static_cause_key(cause), summary->statics[cause]);
	json_add_double(writer, object, "subtotal", summary_static_cycles(summary));
	return object;
}

static struct json_object *culprits_of(struct json_writer *writer,
				       const struct summary_stall *stall)
{
	struct json_object *array = json_new_array(writer);
	for (uint32_t c = 0; c < stall->culprit_count; c++) {
		const struct summary_culprit *culprit = &stall->culprits[c];
		struct json_object *object = range(writer, culprit->low, culprit->high);
		json_add_text(writer, object, "cause", dynamic_cause_key(culprit->cause));
		if (culprit->vaddr)
			json_add_hex(writer, object, "vaddr", culprit->vaddr);
		else
			json_add_null(writer, object, "vaddr");
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *worst(struct json_writer *writer, const struct summary *summary,
				 const struct annotate_index *index)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < summary->worst_count; i++) {
		const struct summary_stall *stall = &summary->worst[i];
		const struct annotate_procedure *procedure = &index->procedures[stall->position];
		struct json_object *object = json_new_object(writer);
		json_add_text(writer, object, "procedure", procedure->procedure->name);
		json_add_text(writer, object, "image",
			      procedure->image_name[0] ? procedure->image_name : NULL);
		json_add_hex(writer, object, "vaddr", stall->vaddr);
		json_add_text(writer, object, "instruction", stall->code[0] ? stall->code : NULL);
		json_add_text(writer, object, "file", stall->file);
		if (stall->file && stall->line)
			json_add_u64(writer, object, "line", stall->line);
		else
			json_add_null(writer, object, "line");
		json_add_double(writer, object, "cycles", stall->cycles);
		json_add_double(writer, object, "cycles_low", stall->low);
		json_add_double(writer, object, "cycles_high", stall->high);
		json_add_double(writer, object, "executions", stall->executed);
		json_add_double(writer, object, "unexplained", stall->unexplained_cycles);
		json_add(writer, object, "culprits", culprits_of(writer, stall));
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *all_notes(struct json_writer *writer, const struct cycles *cycles,
				     const char *const *notes, size_t note_count)
{
	struct json_object *array = json_new_array(writer);
	const char *const *own;
	size_t own_count = cycles_notes(cycles, &own);
	for (size_t i = 0; i < own_count; i++)
		json_append_text(writer, array, own[i]);
	for (size_t i = 0; i < note_count; i++)
		json_append_text(writer, array, notes[i]);
	return array;
}

void summary_json(const struct summary *summary, const struct cycles *cycles,
		  const char *const *notes, size_t note_count, struct buffer *out)
{
	struct json_writer writer = { 0 };
	struct json_object *document = json_new_object(&writer);
	const struct event_column *time =
		&cycles_index(cycles)->columns->list[cycles_events(cycles)->time];
	const struct pipeline *pipeline = cycles_pipeline(cycles)->pipeline;
	json_add_u64(&writer, document, "schema", 1);
	json_add_span(&writer, document, "event", time->name);
	json_add_span(&writer, document, "unit", time->unit);
	json_add_text(&writer, document, "processor", pipeline->name);
	json_add_bool(&writer, document, "in_order", pipeline->in_order);
	json_add_double(&writer, document, "samples", summary->samples);
	json_add_double(&writer, document, "total", summary->total);
	json_add_double(&writer, document, "whole_profile", summary->whole_profile);
	json_add_u64(&writer, document, "procedures", summary->procedures);
	json_add_u64(&writer, document, "unknown_procedures", summary->unknown_procedures);
	json_add_u64(&writer, document, "relative_procedures", summary->relative_procedures);
	json_add(&writer, document, "dynamic", dynamics(&writer, summary));
	json_add(&writer, document, "static", statics(&writer, summary));
	json_add_double(&writer, document, "total_stall",
			summary_dynamic_cycles(summary) + summary_static_cycles(summary));
	json_add_double(&writer, document, "execution", summary->issue_cycles);
	json_add_double(&writer, document, "net_sampling_error", summary->noise_cycles);
	json_add_double(&writer, document, "delayed_interrupts", summary->late_cycles);
	json_add_double(&writer, document, "unknown", summary->unknown_cycles);
	json_add_double(&writer, document, "total_tallied", summary_tallied(summary));
	json_add_double(&writer, document, "idle", summary->idle_cycles);
	json_add_double(&writer, document, "causes_per_stall",
			summary->stalls > 0 ? summary->causes / summary->stalls : NAN);
	json_add(&writer, document, "worst_stalls", worst(&writer, summary, cycles_index(cycles)));
	json_add(&writer, document, "notes", all_notes(&writer, cycles, notes, note_count));
	json_finish(&writer, document, out);
}
