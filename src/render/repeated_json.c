#include "render/repeated_json.h"

#include "base/json_stream.h"
#include "render/json_parts.h"

static void add_summary(struct json_stream *json, const struct repeated *repeated,
			const struct repeated_measure *measure, size_t command)
{
	const struct run_summary *summary = &measure->summaries[command];
	const struct run_trend *trend = &summary->trend;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "measure", measure->name);
	json_stream_text(json, "unit", measure->unit);
	json_add_estimate(json, "mean", summary->mean, 1);
	json_stream_double(json, "deviation", summary->deviation);
	json_stream_double(json, "median", summary->counted ? summary->median : NAN);
	json_stream_double(json, "least", summary->counted ? summary->least : NAN);
	json_stream_double(json, "most", summary->counted ? summary->most : NAN);
	json_stream_u64(json, "counted", summary->counted);
	json_stream_u64(json, "absent", summary->absent);
	json_stream_known(json, "outliers", summary->outliers_judged, summary->outliers);
	json_stream_double(json, "trend", trend->tau);
	json_stream_double(json, "trend_p", trend->tau_p);
	json_stream_double(json, "likeness", trend->likeness);
	json_stream_double(json, "likeness_p", trend->likeness_p);
	json_stream_open(json, "values", '[', JSON_ONE_LINE);
	for (size_t round = 0; round < repeated->rounds; round++)
		json_stream_double(json, NULL,
				   measure->values[round * repeated->commands + command]);
	json_stream_close(json, ']');
	json_stream_close(json, '}');
}

static void add_comparison(struct json_stream *json, const struct repeated *repeated, size_t m,
			   size_t command)
{
	const struct repeated_measure *measure = &repeated->measures[m];
	const struct run_comparison *comparison = &measure->comparisons[command - 1];
	char text[RUN_WORDS_BYTES];
	run_verdict_text(comparison, measure->kind, measure->unit, text);
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "command", command);
	json_stream_u64(json, "with", 0);
	json_stream_text(json, "measure", measure->name);
	json_stream_bool(json, "main", m == repeated->main);
	json_stream_text(json, "scale", run_scale_word(comparison->scale));
	json_add_estimate(json, "change", comparison->change, 1);
	json_stream_double(json, "level", comparison->level);
	json_stream_double(json, "p", comparison->p);
	json_stream_double(json, "q", comparison->q);
	json_stream_text(json, "verdict", run_verdict_word(comparison->verdict));
	json_stream_text(json, "text", text);
	json_stream_double(json, "detectable", comparison->detectable);
	json_stream_u64(json, "rounds", comparison->rounds);
	json_stream_u64(json, "left_out", comparison->left_out);
	json_stream_close(json, '}');
}

void repeated_json_print(const struct repeated *repeated, struct buffer *out)
{
	struct json_stream json = { .out = out };
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_u64(&json, "schema", 1);
	json_stream_u64(&json, "rounds", repeated->rounds);
	json_stream_u64(&json, "warmup", repeated->warmup);
	json_stream_u64(&json, "seed", repeated->seed);
	json_stream_open(&json, "commands", '[', JSON_LINES);
	for (size_t c = 0; c < repeated->commands; c++) {
		json_stream_open(&json, NULL, '{', JSON_LINES);
		json_stream_text(&json, "command", repeated->subjects[c]);
		json_stream_open(&json, "measures", '[', JSON_LINES);
		for (size_t m = 0; m < repeated->measure_count; m++)
			add_summary(&json, repeated, &repeated->measures[m], c);
		json_stream_close(&json, ']');
		json_stream_close(&json, '}');
	}
	json_stream_close(&json, ']');
	json_stream_open(&json, "comparisons", '[', JSON_LINES);
	for (size_t c = 1; c < repeated->commands; c++)
		for (size_t m = 0; m < repeated->measure_count; m++)
			add_comparison(&json, repeated, m, c);
	json_stream_close(&json, ']');
	json_stream_end(&json, '}');
}
