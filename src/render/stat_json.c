#include "render/stat_json.h"

#include <math.h>

#include "analyze/counted/limiting_factor.h"
#include "base/json_stream.h"
#include "render/limit_text.h"
#include "render/stat_topdown.h"

static const char *const state_names[] = {
	[COUNTS_KNOWN] = "counted",
	[COUNTS_NOT_COUNTED] = "not counted",
	[COUNTS_NOT_SUPPORTED] = "not supported",
};

static void add_value(struct json_stream *json, const struct counts_value *value)
{
	json_stream_double(json, "value", value->value);
	json_stream_double(json, "value_low", value->low);
	json_stream_double(json, "value_high", value->high);
	json_stream_text(json, "state", state_names[value->state]);
}

static void add_event(struct json_stream *json, const struct counts *counts,
		      const struct counts_row *row, size_t index)
{
	const struct counts_event *event = &counts->events[index];
	const struct counts_value *value = &row->values[index];
	struct counts_remark remark = counts_remark_of(counts, row, index);
	bool counted = value->state != COUNTS_NOT_SUPPORTED;
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	json_stream_text(json, "event", event->name);
	json_stream_text(json, "core_type", event->core_type);
	json_stream_text(json, "unit", event->unit);
	add_value(json, value);
	json_stream_known(json, "count", counted, value->count);
	json_stream_known(json, "enabled_ns", counted, value->enabled_ns);
	json_stream_known(json, "running_ns", counted, value->running_ns);
	json_stream_double(json, "figure", remark.value);
	json_stream_text(json, "figure_unit",
			 remark.kind == COUNTS_NO_REMARK ? NULL
			 : remark.kind == COUNTS_SHARE	 ? "%"
							 : remark.words);
	json_stream_close(json, '}');
}

static void add_metric(struct json_stream *json, const struct counts_metric *metric,
		       const struct counts_value *value)
{
	json_stream_open(json, NULL, '{', JSON_ONE_LINE);
	json_stream_text(json, "metric", metric->name);
	json_stream_text(json, "expression", metric->expression);
	add_value(json, value);
	json_stream_close(json, '}');
}

static void add_rows(struct json_stream *json, const struct counts *counts)
{
	json_stream_open(json, "rows", '[', JSON_LINES);
	for (size_t i = 0; i < counts->row_count; i++) {
		const struct counts_row *row = &counts->rows[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "row", row->label);
		json_stream_known(json, "cpus", row->cpus > 0, row->cpus);
		json_stream_open(json, "events", '[', JSON_LINES);
		for (size_t event = 0; event < counts->event_count; event++)
			add_event(json, counts, row, event);
		json_stream_close(json, ']');
		json_stream_open(json, "metrics", '[', JSON_LINES);
		for (size_t metric = 0; metric < counts->metric_count; metric++)
			add_metric(json, &counts->metrics[metric], &row->metrics[metric]);
		json_stream_close(json, ']');
		stat_topdown_add_json(json, counts, row);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_ns(struct json_stream *json, const char *key, double seconds)
{
	json_stream_known(json, key, isfinite(seconds),
			  isfinite(seconds) ? (uint64_t)llround(seconds * 1e9) : 0);
}

static void add_factor(struct json_stream *json, const struct limiting_factor *factor)
{
	char text[LIMIT_TEXT_SIZE];
	if (!factor) {
		json_stream_null(json, "limit");
		return;
	}
	limit_text(factor, text);
	json_stream_open(json, "limit", '{', JSON_LINES);
	json_stream_text(json, "kind", limit_names[factor->limit]);
	json_stream_text(json, "text", text);
	json_stream_double(json, "cpus_used", factor->cpus_used);
	json_stream_double(json, "cpus", factor->cpus);
	json_stream_double(json, "instructions_per_cycle", factor->instructions_per_cycle);
	json_stream_double(json, "system_share", factor->system_share);
	json_stream_double(json, "page_fault_share_low", factor->page_fault_share);
	json_stream_double(json, "misprediction_share_low", factor->misprediction_share);
	json_stream_close(json, '}');
}

void stat_json_print(const struct counts *counts, const struct limiting_factor *factor,
		     struct buffer *out)
{
	struct json_stream json = { .out = out };
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_u64(&json, "schema", 1);
	json_stream_text(&json, "subject", counts->subject);
	add_ns(&json, "elapsed_ns", counts->elapsed_s);
	add_ns(&json, "user_ns", counts->user_s);
	add_ns(&json, "system_ns", counts->system_s);
	add_factor(&json, factor);
	add_rows(&json, counts);
	json_stream_end(&json, '}');
}

void stat_json_print_interval(const struct counts *counts, struct buffer *out)
{
	struct json_stream json = { .out = out };
	json_stream_open(&json, NULL, '{', JSON_ONE_LINE);
	json_stream_u64(&json, "schema", 1);
	json_stream_text(&json, "subject", counts->subject);
	add_ns(&json, "time_ns", counts->begin_s + counts->elapsed_s);
	add_ns(&json, "elapsed_ns", counts->elapsed_s);
	add_rows(&json, counts);
	json_stream_end(&json, '}');
}
