#include "render/diff_json.h"

#include <math.h>

#include "analyze/compare/compare.h"
#include "base/buffer.h"
#include "render/difference_json.h"
#include "render/json_parts.h"
#include "render/report_json_parts.h"

#define DIFF_SCHEMA 1

static void add_side(struct json_stream *json, const char *key, const struct report *report,
		     const char *title)
{
	json_stream_open(json, key, '{', JSON_LINES);
	json_stream_text(json, "profile", title);
	report_json_add_scope(json, report);
	report_json_add_events(json, report);
	json_stream_texts(json, "notes", report->notes, report->note_count);
	json_stream_close(json, '}');
}

static void add_change(struct json_stream *json, const char *key,
		       const struct comparison *comparison, size_t at,
		       const struct difference *change)
{
	const struct compared_column *column = &comparison->columns[at];
	const struct difference_json_sides sides = {
		comparison->before->columns.list[column->before].sampled,
		comparison->after->columns.list[column->after].sampled, column->event.step
	};
	difference_json_add(json, key, &sides, change);
}

static void add_changes(struct json_stream *json, const char *key,
			const struct comparison *comparison, const struct difference *changes)
{
	json_stream_open(json, key, '[', JSON_LINES);
	for (size_t i = 0; i < comparison->column_count; i++)
		add_change(json, NULL, comparison, i, &changes[i]);
	json_stream_close(json, ']');
}

static void add_split(struct json_stream *json, const struct comparison *comparison, size_t at,
		      const struct difference_split *split)
{
	const struct compared_pair *pair = &comparison->pairs[at];
	double cycles = comparison->columns[pair->cycles].event.step;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "cycles_event", pair->cycles);
	json_stream_u64(json, "instructions_event", pair->instructions);
	json_add_estimate(json, "change_by_instructions", split->instructions, 1 / cycles);
	json_stream_double(json, "change_by_instructions_p", split->instructions_p);
	json_add_estimate(json, "change_by_cpi", split->cpi, 1 / cycles);
	json_stream_double(json, "change_by_cpi_p", split->cpi_p);
	json_add_estimate(json, "before_cycles_per_instruction", split->before_cpi, 1);
	json_add_estimate(json, "after_cycles_per_instruction", split->after_cpi, 1);
	json_stream_close(json, '}');
}

static void add_events(struct json_stream *json, const struct comparison *comparison)
{
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t i = 0; i < comparison->column_count; i++) {
		const struct compared_column *column = &comparison->columns[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "before_name",
				 comparison->before->columns.list[column->before].name);
		json_stream_span(json, "after_name",
				 comparison->after->columns.list[column->after].name);
		json_stream_span(json, "unit", comparison->after->columns.list[column->after].unit);
		json_stream_u64(json, "before_runs", column->runs[0]);
		json_stream_u64(json, "after_runs", column->runs[1]);
		json_stream_double(json, "before_factor", column->event.scale.factor);
		add_change(json, "total", comparison, i, &column->whole);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_row_noise(struct json_stream *json, const struct comparison *comparison,
			  const struct compared_row *row)
{
	const struct difference_noise *noise = row->noises ? &row->noises[comparison->main] : NULL;
	json_stream_double(json, "variance_of_runs_over_sampling",
			   noise ? noise->factor : (double)NAN);
	json_stream_double(json, "degrees_of_freedom", noise ? noise->degrees : (double)NAN);
}

static void add_base(struct json_stream *json, const struct comparison *comparison)
{
	json_stream_open(json, "compared", '{', JSON_LINES);
	json_stream_text(json, "per", difference_base_names[comparison->base]);
	json_stream_text(json, "constant", comparison->constant);
	if (comparison->base == DIFFERENCE_FUNCTION)
		json_stream_bool(json, "constant_inclusive", comparison->constant_inclusive);
	json_stream_bool(json, "chosen", comparison->base_chosen);
	json_stream_close(json, '}');
}

static void add_row(struct json_stream *json, const struct comparison *comparison,
		    const struct compared_row *row)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	if (row->after)
		report_json_add_key(json, comparison->after, row->after);
	else
		report_json_add_key(json, comparison->before, row->before);
	if (row->before && row->after) {
		json_stream_open(json, "base", '{', JSON_LINES);
		report_json_add_key(json, comparison->before, row->before);
		json_stream_close(json, '}');
	} else {
		json_stream_null(json, "base");
	}
	json_stream_text(json, "matched",
			 row->match == MATCH_NONE ? NULL : match_kind_names[row->match]);
	json_stream_u64(json, "before_rows", row->before_count);
	json_stream_u64(json, "after_rows", row->after_count);
	add_changes(json, "changes", comparison, row->changes);
	json_stream_open(json, "splits", '[', JSON_LINES);
	for (size_t i = 0; i < comparison->pair_count; i++)
		add_split(json, comparison, i, &row->splits[i]);
	json_stream_close(json, ']');
	json_stream_double(json, "q", row->q);
	add_row_noise(json, comparison, row);
	json_stream_double(json, "growth_percent_of_before_total", row->growth_percent);
	if (comparison->options.fail_above_percent >= 0)
		json_stream_bool(json, "grown", row->grown);
	json_stream_close(json, '}');
}

static void add_verdicts(struct json_stream *json, const struct comparison *comparison)
{
	json_stream_open(json, "verdicts", '{', JSON_LINES);
	json_stream_u64(json, "significant", comparison->significant);
	json_stream_u64(json, "noise", comparison->noise);
	json_stream_u64(json, "unknown", comparison->unknown);
	json_stream_double(json, "false_discovery_rate", DIFFERENCE_FALSE_DISCOVERIES);
	if (comparison->options.fail_above_percent >= 0) {
		json_stream_double(json, "fail_above_percent",
				   comparison->options.fail_above_percent);
		json_stream_bool(json, "total_grown", comparison->total_grown);
		json_stream_u64(json, "rows_grown", comparison->grown_count);
	}
	json_stream_close(json, '}');
}

void diff_json(const struct comparison *comparison, const char *before_title,
	       const char *after_title, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", DIFF_SCHEMA);
	add_side(json, "before", comparison->before, before_title);
	add_side(json, "after", comparison->after, after_title);
	add_base(json, comparison);
	difference_json_add_noise(json, comparison->side_runs,
				  comparison->columns[comparison->main].usual_noise);
	add_events(json, comparison);
	json_stream_open(json, "splits", '[', JSON_LINES);
	for (size_t i = 0; i < comparison->pair_count; i++)
		add_split(json, comparison, i, &comparison->pairs[i].whole);
	json_stream_close(json, ']');
	add_verdicts(json, comparison);
	json_stream_open(json, "rows", '[', JSON_LINES);
	for (size_t i = 0; i < comparison->row_count && !buffer_failed(out); i++)
		add_row(json, comparison, &comparison->rows[i]);
	json_stream_close(json, ']');
	json_stream_u64(json, "rest_rows", comparison->rest_count);
	if (comparison->rest)
		add_changes(json, "rest", comparison, comparison->rest);
	else
		json_stream_null(json, "rest");
	json_stream_texts(json, "notes", comparison->notes, comparison->note_count);
	json_stream_end(json, '}');
}
