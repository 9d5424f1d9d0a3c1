#include "render/diff_json.h"

#include "analyze/compare/compare.h"
#include "base/buffer.h"
#include "render/difference_json.h"
#include "render/json_value.h"
#include "render/report_json_parts.h"

#define DIFF_SCHEMA 1

static struct json_object *side_object(struct json_writer *writer, const struct report *report,
				       const char *title)
{
	struct json_object *object = json_new_object(writer);
	json_add_text(writer, object, "profile", title);
	json_add(writer, object, "scope", report_json_scope(writer, report));
	report_json_add_events(writer, object, report);
	json_add_texts(writer, object, "notes", report->notes, report->note_count);
	return object;
}

static struct json_object *change_object(struct json_writer *writer,
					 const struct comparison *comparison, size_t at,
					 const struct difference *change)
{
	const struct compared_column *column = &comparison->columns[at];
	const struct difference_json_sides sides = {
		comparison->before->columns.list[column->before].sampled,
		comparison->after->columns.list[column->after].sampled, column->event.step
	};
	return difference_json(writer, &sides, change);
}

static struct json_object *changes_array(struct json_writer *writer,
					 const struct comparison *comparison,
					 const struct difference *changes)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < comparison->column_count; i++)
		json_append(writer, array, change_object(writer, comparison, i, &changes[i]));
	return array;
}

static struct json_object *split_object(struct json_writer *writer,
					const struct comparison *comparison, size_t at,
					const struct difference_split *split)
{
	const struct compared_pair *pair = &comparison->pairs[at];
	double cycles = comparison->columns[pair->cycles].event.step;
	struct json_object *object = json_new_object(writer);
	json_add_u64(writer, object, "cycles_event", pair->cycles);
	json_add_u64(writer, object, "instructions_event", pair->instructions);
	json_add_estimate(writer, object, "change_by_instructions", split->instructions,
			  1 / cycles);
	json_add_double(writer, object, "change_by_instructions_p", split->instructions_p);
	json_add_estimate(writer, object, "change_by_cpi", split->cpi, 1 / cycles);
	json_add_double(writer, object, "change_by_cpi_p", split->cpi_p);
	json_add_estimate(writer, object, "before_cycles_per_instruction", split->before_cpi, 1);
	json_add_estimate(writer, object, "after_cycles_per_instruction", split->after_cpi, 1);
	return object;
}

static struct json_object *events_array(struct json_writer *writer,
					const struct comparison *comparison)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < comparison->column_count; i++) {
		const struct compared_column *column = &comparison->columns[i];
		struct json_object *object = json_new_object(writer);
		json_add_span(writer, object, "before_name",
			      comparison->before->columns.list[column->before].name);
		json_add_span(writer, object, "after_name",
			      comparison->after->columns.list[column->after].name);
		json_add_span(writer, object, "unit",
			      comparison->after->columns.list[column->after].unit);
		json_add_double(writer, object, "before_factor", column->event.scale.factor);
		json_add(writer, object, "total",
			 change_object(writer, comparison, i, &column->whole));
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *base_object(struct json_writer *writer,
				       const struct comparison *comparison)
{
	struct json_object *object = json_new_object(writer);
	json_add_text(writer, object, "per", difference_base_names[comparison->base]);
	json_add_text(writer, object, "constant", comparison->constant);
	if (comparison->base == DIFFERENCE_FUNCTION)
		json_add_bool(writer, object, "constant_inclusive", comparison->constant_inclusive);
	json_add_bool(writer, object, "chosen", comparison->base_chosen);
	return object;
}

static struct json_object *row_object(struct json_writer *writer,
				      const struct comparison *comparison,
				      const struct compared_row *row)
{
	struct json_object *object = json_new_object(writer);
	if (row->after)
		report_json_add_key(writer, object, comparison->after, row->after);
	else
		report_json_add_key(writer, object, comparison->before, row->before);
	if (row->before && row->after) {
		struct json_object *base = json_new_object(writer);
		report_json_add_key(writer, base, comparison->before, row->before);
		json_add(writer, object, "base", base);
	} else {
		json_add_null(writer, object, "base");
	}
	json_add_text(writer, object, "matched",
		      row->match == MATCH_NONE ? NULL : match_kind_names[row->match]);
	json_add_u64(writer, object, "before_rows", row->before_count);
	json_add_u64(writer, object, "after_rows", row->after_count);
	json_add(writer, object, "changes", changes_array(writer, comparison, row->changes));
	struct json_object *splits = json_new_array(writer);
	for (size_t i = 0; i < comparison->pair_count; i++)
		json_append(writer, splits, split_object(writer, comparison, i, &row->splits[i]));
	json_add(writer, object, "splits", splits);
	json_add_double(writer, object, "q", row->q);
	json_add_double(writer, object, "growth_percent_of_before_total", row->growth_percent);
	if (comparison->options.fail_above_percent >= 0)
		json_add_bool(writer, object, "grown", row->grown);
	return object;
}

static struct json_object *verdicts_object(struct json_writer *writer,
					   const struct comparison *comparison)
{
	struct json_object *object = json_new_object(writer);
	json_add_u64(writer, object, "significant", comparison->significant);
	json_add_u64(writer, object, "noise", comparison->noise);
	json_add_u64(writer, object, "unknown", comparison->unknown);
	json_add_double(writer, object, "false_discovery_rate", DIFFERENCE_FALSE_DISCOVERIES);
	if (comparison->options.fail_above_percent >= 0) {
		json_add_double(writer, object, "fail_above_percent",
				comparison->options.fail_above_percent);
		json_add_bool(writer, object, "total_grown", comparison->total_grown);
		json_add_u64(writer, object, "rows_grown", comparison->grown_count);
	}
	return object;
}

void diff_json(const struct comparison *comparison, const char *before_title,
	       const char *after_title, struct buffer *out)
{
	struct json_writer writer = { 0 };
	struct json_object *document = json_new_object(&writer);
	json_add_u64(&writer, document, "schema", DIFF_SCHEMA);
	json_add(&writer, document, "before",
		 side_object(&writer, comparison->before, before_title));
	json_add(&writer, document, "after", side_object(&writer, comparison->after, after_title));
	json_add(&writer, document, "compared", base_object(&writer, comparison));
	json_add(&writer, document, "events", events_array(&writer, comparison));
	struct json_object *splits = json_new_array(&writer);
	for (size_t i = 0; i < comparison->pair_count; i++)
		json_append(&writer, splits,
			    split_object(&writer, comparison, i, &comparison->pairs[i].whole));
	json_add(&writer, document, "splits", splits);
	json_add(&writer, document, "verdicts", verdicts_object(&writer, comparison));
	struct json_object *rows = json_new_array(&writer);
	for (size_t i = 0; i < comparison->row_count && !writer.failed; i++)
		json_append(&writer, rows, row_object(&writer, comparison, &comparison->rows[i]));
	json_add(&writer, document, "rows", rows);
	json_add_u64(&writer, document, "rest_rows", comparison->rest_count);
	if (comparison->rest)
		json_add(&writer, document, "rest",
			 changes_array(&writer, comparison, comparison->rest));
	else
		json_add_null(&writer, document, "rest");
	json_add_texts(&writer, document, "notes", comparison->notes, comparison->note_count);
	json_finish(&writer, document, out);
}
