#include "render/spread_growth_json.h"

#include "analyze/spread/spread_growth.h"
#include "base/json_stream.h"
#include "render/report_json_parts.h"

static void add_cause(struct json_stream *json, double step,
		      const struct spread_growth_cause *cause)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "cause", cause->key);
	json_stream_double(json, "least_run_low", cause->least_low / step);
	json_stream_double(json, "least_run_high", cause->least_high / step);
	json_stream_double(json, "most_run_low", cause->most_low / step);
	json_stream_double(json, "most_run_high", cause->most_high / step);
	json_stream_double(json, "change_low", (cause->most_low - cause->least_high) / step);
	json_stream_double(json, "change_high", (cause->most_high - cause->least_low) / step);
	json_stream_close(json, '}');
}

static void add_one(struct json_stream *json, const struct spread *spread,
		    const struct spread_growth *growth)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	report_json_add_key(json, spread->report, growth->row->row);
	json_stream_u64(json, "least_run", growth->least_run + 1);
	json_stream_u64(json, "most_run", growth->most_run + 1);
	json_stream_double(json, "change", growth->change / spread->step);
	if (growth->known) {
		json_stream_null(json, "unknown_because");
		json_stream_bool(json, "relative", growth->relative);
		json_stream_open(json, "causes", '[', JSON_LINES);
		for (size_t i = 0; i < growth->cause_count; i++)
			add_cause(json, spread->step, &growth->causes[i]);
		json_stream_close(json, ']');
	} else {
		json_stream_text(json, "unknown_because", growth->reason);
		json_stream_null(json, "relative");
		json_stream_null(json, "causes");
	}
	json_stream_close(json, '}');
}

void spread_growth_json(struct json_stream *json, const struct spread *spread,
			const struct spread_growth *growth, size_t count)
{
	json_stream_open(json, "growth", '[', JSON_LINES);
	for (size_t i = 0; i < count; i++)
		add_one(json, spread, &growth[i]);
	json_stream_close(json, ']');
}
