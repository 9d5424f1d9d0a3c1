#include "base/buffer.h"
#include "render/difference_json.h"
#include "render/json_value.h"
#include "render/listing_diff.h"
#include "render/listing_json_parts.h"

static struct json_object *changes(struct json_writer *writer, const struct annotation_diff *diff,
				   const struct listing_diff_sides *sides,
				   const struct difference *list)
{
	struct json_object *array = json_new_array(writer);
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct annotate_diff_column *column = &diff->columns[c];
		const struct difference_json_sides what = {
			sides->before->columns->list[column->before].sampled,
			sides->after->columns->list[column->after].sampled, column->event.step
		};
		json_append(writer, array, difference_json(writer, &what, &list[c]));
	}
	return array;
}

static struct json_object *version(struct json_writer *writer, const struct annotation *annotation,
				   const struct annotate_index *index)
{
	if (!annotation)
		return NULL;
	struct json_object *object = json_new_object(writer);
	json_add_text(writer, object, "name", annotation->procedure->procedure->name);
	listing_json_add_code(writer, object, annotation, index);
	json_add_u64(writer, object, "instructions", annotation->instructions);
	json_add_text(writer, object, "no_code", annotation->no_code);
	return object;
}

static struct json_object *place(struct json_writer *writer, const struct annotation *annotation,
				 const struct annotated_row *row)
{
	if (!row)
		return NULL;
	struct json_object *object = json_new_object(writer);
	listing_json_add_vaddr(writer, object, row);
	if (row->kind == ANNOTATED_INSTRUCTION)
		listing_json_add_text(writer, object, row);
	else
		json_add_null(writer, object, "text");
	const struct source_frame *frame = row->source == ANNOTATED_NO_SOURCE
						   ? NULL
						   : &annotation->sources[row->source].frames[0];
	listing_json_add_line(writer, object, frame ? frame->file : NULL, frame ? frame->line : 0);
	return object;
}

static struct json_object *procedure(struct json_writer *writer, const struct annotation_diff *diff,
				     const struct listing_diff_sides *sides)
{
	struct json_object *object = json_new_object(writer);
	json_add_text(writer, object, "matched",
		      diff->before ? annotate_match_names[diff->match] : NULL);
	json_add_bool(writer, object, "alignment_cut", diff->alignment_cut);
	json_add(writer, object, "before", version(writer, diff->before, sides->before));
	json_add(writer, object, "after", version(writer, diff->after, sides->after));
	json_add(writer, object, "changes", changes(writer, diff, sides, diff->whole));
	struct json_object *rows = json_new_array(writer);
	for (size_t i = 0; i < diff->row_count && !writer->failed; i++) {
		const struct annotate_diff_row *row = &diff->rows[i];
		struct json_object *one = json_new_object(writer);
		json_add(writer, one, "before", place(writer, diff->before, row->before));
		json_add(writer, one, "after", place(writer, diff->after, row->after));
		json_add(writer, one, "changes", changes(writer, diff, sides, row->changes));
		json_append(writer, rows, one);
	}
	json_add(writer, object, "rows", rows);
	return object;
}

static struct json_object *events(struct json_writer *writer, const struct annotation_diff *diff,
				  const struct listing_diff_sides *sides)
{
	struct json_object *array = json_new_array(writer);
	for (size_t c = 0; diff && c < diff->column_count; c++) {
		const struct annotate_diff_column *column = &diff->columns[c];
		struct json_object *object = json_new_object(writer);
		json_add_span(writer, object, "before_name",
			      sides->before->columns->list[column->before].name);
		json_add_span(writer, object, "after_name",
			      sides->after->columns->list[column->after].name);
		json_add_span(writer, object, "unit",
			      sides->after->columns->list[column->after].unit);
		json_add_double(writer, object, "before_factor", column->event.scale.factor);
		json_append(writer, array, object);
	}
	return array;
}

void listing_diff_json(struct annotation_diff *const *diffs, size_t count,
		       const struct listing_diff_sides *sides, const char *const *notes,
		       size_t note_count, struct buffer *out)
{
	struct json_writer writer = { 0 };
	struct json_object *document = json_new_object(&writer);
	json_add_u64(&writer, document, "schema", 1);
	json_add_text(&writer, document, "before_profile", sides->before_title);
	json_add_text(&writer, document, "after_profile", sides->after_title);
	json_add_text(&writer, document, "per", difference_base_names[sides->base]);
	json_add(&writer, document, "events", events(&writer, count ? diffs[0] : NULL, sides));
	struct json_object *list = json_new_array(&writer);
	for (size_t i = 0; i < count; i++)
		json_append(&writer, list, procedure(&writer, diffs[i], sides));
	json_add(&writer, document, "procedures", list);
	json_add_texts(&writer, document, "notes", notes, note_count);
	json_finish(&writer, document, out);
}
