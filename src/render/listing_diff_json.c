#include <math.h>

#include "base/json_stream.h"
#include "render/difference_json.h"
#include "render/listing_diff.h"
#include "render/listing_json_parts.h"

static void add_changes(struct json_stream *json, const char *key,
			const struct annotation_diff *diff, const struct listing_diff_sides *sides,
			const struct difference *list)
{
	json_stream_open(json, key, '[', JSON_LINES);
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct annotate_diff_column *column = &diff->columns[c];
		const struct difference_json_sides what = {
			sides->before->columns->list[column->before].sampled,
			sides->after->columns->list[column->after].sampled, column->event.step
		};
		difference_json_add(json, NULL, &what, &list[c]);
	}
	json_stream_close(json, ']');
}

static void add_version(struct json_stream *json, const char *key,
			const struct annotation *annotation, const struct annotate_index *index)
{
	if (!annotation) {
		json_stream_null(json, key);
		return;
	}
	json_stream_open(json, key, '{', JSON_LINES);
	json_stream_text(json, "name", annotation->procedure->procedure->name);
	listing_json_add_code(json, annotation, index);
	json_stream_u64(json, "instructions", annotation->instructions);
	json_stream_text(json, "no_code", annotation->no_code);
	json_stream_close(json, '}');
}

static void add_place(struct json_stream *json, const char *key,
		      const struct annotation *annotation, const struct annotated_row *row)
{
	if (!row) {
		json_stream_null(json, key);
		return;
	}
	json_stream_open(json, key, '{', JSON_LINES);
	listing_json_add_vaddr(json, row);
	if (row->kind == ANNOTATED_INSTRUCTION)
		listing_json_add_text(json, row);
	else
		json_stream_null(json, "text");
	const struct source_frame *frame = row->source == ANNOTATED_NO_SOURCE
						   ? NULL
						   : &annotation->sources[row->source].frames[0];
	listing_json_add_line(json, frame ? frame->file : NULL, frame ? frame->line : 0);
	json_stream_close(json, '}');
}

static void add_procedure(struct json_stream *json, const struct annotation_diff *diff,
			  const struct listing_diff_sides *sides)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "matched", diff->before ? annotate_match_names[diff->match] : NULL);
	json_stream_bool(json, "alignment_cut", diff->alignment_cut);
	add_version(json, "before", diff->before, sides->before);
	add_version(json, "after", diff->after, sides->after);
	add_changes(json, "changes", diff, sides, diff->whole);
	json_stream_open(json, "rows", '[', JSON_LINES);
	for (size_t i = 0; i < diff->row_count && !buffer_failed(json->out); i++) {
		const struct annotate_diff_row *row = &diff->rows[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		add_place(json, "before", diff->before, row->before);
		add_place(json, "after", diff->after, row->after);
		add_changes(json, "changes", diff, sides, row->changes);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
	json_stream_close(json, '}');
}

static void add_events(struct json_stream *json, const struct annotation_diff *diff,
		       const struct listing_diff_sides *sides)
{
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t c = 0; diff && c < diff->column_count; c++) {
		const struct annotate_diff_column *column = &diff->columns[c];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "before_name",
				 sides->before->columns->list[column->before].name);
		json_stream_span(json, "after_name",
				 sides->after->columns->list[column->after].name);
		json_stream_span(json, "unit", sides->after->columns->list[column->after].unit);
		json_stream_double(json, "before_factor", column->event.scale.factor);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

void listing_diff_json(struct annotation_diff *const *diffs, size_t count,
		       const struct listing_diff_sides *sides, const char *const *notes,
		       size_t note_count, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", 1);
	json_stream_text(json, "before_profile", sides->before_title);
	json_stream_text(json, "after_profile", sides->after_title);
	json_stream_text(json, "per", difference_base_names[sides->base]);
	difference_json_add_noise(json, (const size_t[]){ 1, 1 }, NAN);
	add_events(json, count ? diffs[0] : NULL, sides);
	json_stream_open(json, "procedures", '[', JSON_LINES);
	for (size_t i = 0; i < count; i++)
		add_procedure(json, diffs[i], sides);
	json_stream_close(json, ']');
	json_stream_texts(json, "notes", notes, note_count);
	json_stream_end(json, '}');
}
