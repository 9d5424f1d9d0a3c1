#include "render/spread_json.h"

#include <math.h>

#include "analyze/spread/spread.h"
#include "base/buffer.h"
#include "render/json_parts.h"
#include "render/report_json_parts.h"
#include "render/spread_growth_json.h"

#define SPREAD_SCHEMA 1

static void add_runs(struct json_stream *json, const struct spread *spread,
		     const char *const *titles)
{
	const struct event_column *column = &spread->report->columns.list[spread->column];
	json_stream_open(json, "runs", '[', JSON_LINES);
	for (size_t i = 0; i < spread->run_count; i++) {
		const struct spread_run *run = &spread->runs[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "profile", titles[i]);
		json_stream_bool(json, "counted", run->counted);
		json_stream_known(json, "duration_ns", run->duration_ns > 0, run->duration_ns);
		json_stream_known(json, "samples", run->counted && column->sampled,
				  run->whole.samples);
		json_stream_double(json, "total",
				   run->counted ? (double)run->whole.estimate / spread->step
						: (double)NAN);
		json_stream_double(json, "exposure", run->exposure);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static const char *const verdict_names[] = { [DIFFERENCE_NO_ERROR_KNOWN] = "unknown",
					     [DIFFERENCE_NOISE] = "noise",
					     [DIFFERENCE_SIGNIFICANT] = "varies" };

static void add_values(struct json_stream *json, const struct spread *spread,
		       const struct spread_row *row)
{
	const struct event_column *column = &spread->report->columns.list[spread->column];
	json_stream_open(json, "values", '[', JSON_ONE_LINE);
	for (size_t run = 0; run < spread->run_count; run++)
		json_stream_double(json, NULL, row->values[run] / spread->step);
	json_stream_close(json, ']');
	json_stream_open(json, "samples", '[', JSON_ONE_LINE);
	for (size_t run = 0; run < spread->run_count; run++)
		json_stream_known(json, NULL, spread->runs[run].counted && column->sampled,
				  row->cells[run].samples);
	json_stream_close(json, ']');
}

static void add_figures(struct json_stream *json, const struct spread *spread,
			const struct spread_row *row)
{
	double step = spread->step;
	json_stream_double(json, "range_percent", 100 * row->range_ratio);
	json_stream_double(json, "counted", (double)row->sum.estimate / step);
	json_stream_double(json, "sum", row->total / step);
	json_stream_double(json, "sum_percent", 100 * row->share);
	json_stream_u64(json, "n", row->runs);
	json_stream_u64(json, "runs_with_samples", row->seen);
	json_stream_double(json, "mean", row->mean / step);
	json_stream_double(json, "standard_deviation", row->deviation / step);
	json_stream_double(json, "standard_deviation_by_chance", row->chance / step);
	json_stream_double(json, "min", row->least / step);
	json_stream_double(json, "max", row->most / step);
	json_stream_u64(json, "min_run", row->least_run + 1);
	json_stream_u64(json, "max_run", row->most_run + 1);
	json_stream_double(json, "p", row->p);
	json_stream_double(json, "q", row->q);
	json_stream_text(json, "verdict", row->tested ? verdict_names[row->verdict] : NULL);
	add_values(json, spread, row);
}

static void add_sum(struct json_stream *json, const struct spread *spread, const char *key,
		    const struct spread_row *row)
{
	json_stream_open(json, key, '{', JSON_LINES);
	add_figures(json, spread, row);
	json_stream_close(json, '}');
}

static void add_row(struct json_stream *json, const struct spread *spread,
		    const struct spread_row *row)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	report_json_add_key(json, spread->report, row->row);
	json_stream_u64(json, "builds", row->builds);
	add_figures(json, spread, row);
	json_stream_close(json, '}');
}

static void add_verdicts(struct json_stream *json, const struct spread *spread)
{
	json_stream_open(json, "verdicts", '{', JSON_LINES);
	json_stream_u64(json, "varies", spread->significant);
	json_stream_u64(json, "noise", spread->noise);
	json_stream_u64(json, "unknown", spread->unknown);
	json_stream_double(json, "false_discovery_rate", DIFFERENCE_FALSE_DISCOVERIES);
	json_stream_close(json, '}');
}

void spread_json(const struct spread *spread, const char *const *titles,
		 const struct spread_growth *growth, size_t growth_count, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", SPREAD_SCHEMA);
	report_json_add_scope(json, spread->report);
	report_json_add_events(json, spread->report);
	json_stream_u64(json, "event", spread->column);
	json_stream_open(json, "compared", '{', JSON_LINES);
	json_stream_text(json, "per", spread_base_names[spread->base]);
	json_stream_bool(json, "chosen", spread->options.base_given);
	json_stream_close(json, '}');
	add_runs(json, spread, titles);
	add_verdicts(json, spread);
	add_sum(json, spread, "all", &spread->whole);
	json_stream_open(json, "rows", '[', JSON_LINES);
	for (size_t i = 0; i < spread->row_count && !buffer_failed(out); i++)
		add_row(json, spread, &spread->rows[i]);
	json_stream_close(json, ']');
	json_stream_u64(json, "rest_rows", spread->rest_count);
	if (spread->rest_count && spread->report->options.view == REPORT_FLAT)
		add_sum(json, spread, "rest", &spread->rest);
	else
		json_stream_null(json, "rest");
	spread_growth_json(json, spread, growth, growth_count);
	json_stream_texts(json, "notes", spread->notes, spread->note_count);
	json_stream_end(json, '}');
}
