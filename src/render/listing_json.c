#include "render/listing_json.h"

#include <stdio.h>

#include "analyze/cycles/cycles.h"
#include "base/buffer.h"
#include "render/json_parts.h"
#include "render/listing_cycles_json.h"
#include "render/listing_json_parts.h"

/* ---- what a comparison of two versions holds too */

void listing_json_add_code(struct json_stream *json, const struct annotation *annotation,
			   const struct annotate_index *index)
{
	const struct procedure *procedure = annotation->procedure->procedure;
	const char *image_name = annotation->procedure->image_name;
	struct profile_image image = { 0 };
	if (procedure->image)
		image = profile_image(index->profile, procedure->image);
	json_stream_text(json, "image", image_name[0] ? image_name : NULL);
	json_stream_bytes(json, "build_id", image.build_id);
	json_add_writer(json, image.writer);
	if (procedure->extent_known) {
		json_stream_hex(json, "first_vaddr", procedure->first);
		json_stream_hex(json, "last_vaddr", procedure->last);
	} else {
		json_stream_null(json, "first_vaddr");
		json_stream_null(json, "last_vaddr");
	}
}

void listing_json_add_vaddr(struct json_stream *json, const struct annotated_row *row)
{
	if (row->kind == ANNOTATED_NAME)
		json_stream_null(json, "vaddr");
	else
		json_stream_hex(json, "vaddr", row->vaddr);
}

void listing_json_add_text(struct json_stream *json, const struct annotated_row *row)
{
	char text[INSTRUCTION_MNEMONIC_BYTES + INSTRUCTION_OPERANDS_BYTES];
	snprintf(text, sizeof(text), "%s%s%s", row->mnemonic, row->operands[0] ? " " : "",
		 row->operands);
	json_stream_text(json, "text", text);
}

void listing_json_add_line(struct json_stream *json, const char *file, uint64_t line)
{
	json_stream_text(json, "file", file);
	json_stream_known(json, "line", line, line);
}

/* ---- counts */

static void add_cell(struct json_stream *json, const struct event_column *event,
		     const struct cell *cell)
{
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_known(json, "samples", event->sampled, cell->samples);
	if (event->scale)
		json_stream_double(json, "estimate",
				   (double)cell->estimate / event_column_divisor(event));
	else
		json_stream_u64(json, "estimate", cell->estimate);
	json_stream_close(json, '}');
}

/* By event, in the order of "events". */
static void add_cells(struct json_stream *json, const struct event_columns *columns,
		      const struct cell *cells)
{
	json_stream_open(json, "counts", '[', JSON_LINES);
	for (size_t c = 0; c < columns->count; c++)
		add_cell(json, &columns->list[c], &cells[c]);
	json_stream_close(json, ']');
}

static void add_events(struct json_stream *json, const struct annotate_index *index)
{
	json_stream_open(json, "events", '[', JSON_LINES);
	for (size_t c = 0; c < index->columns->count; c++) {
		const struct event_column *event = &index->columns->list[c];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_span(json, "name", event->name);
		json_stream_span(json, "unit", event->unit);
		json_stream_span(json, "core_type", event->core_type);
		json_stream_bool(json, "sampled", event->sampled);
		json_stream_known(json, "skid_instructions", event->skid, event->skid - 1);
		json_stream_open(json, "all", '[', JSON_LINES);
		add_cell(json, event, &index->whole[c]);
		json_stream_close(json, ']');
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static const char *const kinds[] = { [ANNOTATED_INSTRUCTION] = "instruction",
				     [ANNOTATED_INSIDE] = "inside",
				     [ANNOTATED_ADDRESS] = "address",
				     [ANNOTATED_NAME] = "name" };
static const char *const flows[] = {
	[INSTRUCTION_OTHER] = "other",	 [INSTRUCTION_CALL] = "call",
	[INSTRUCTION_JUMP] = "jump",	 [INSTRUCTION_CONDITIONAL] = "conditional",
	[INSTRUCTION_RETURN] = "return", [INSTRUCTION_DATA] = "data"
};

static void add_instruction(struct json_stream *json, const struct annotated_row *row)
{
	json_stream_bytes(json, "bytes", (struct span){ row->bytes, row->length_bytes });
	listing_json_add_text(json, row);
	json_stream_text(json, "flow", flows[row->instruction]);
	if (row->has_target)
		json_stream_hex(json, "target_vaddr", row->target);
	if (row->has_target && !row->target_here)
		json_stream_text(json, "target_procedure", row->target_name);
	if (row->has_reference)
		json_stream_hex(json, "reference_vaddr", row->reference);
}

static void add_source(struct json_stream *json, const struct annotated_source *source)
{
	json_stream_open(json, "source", '[', JSON_LINES);
	for (size_t i = 0; i < source->count; i++) {
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "inlined", source->frames[i].function);
		listing_json_add_line(json, source->frames[i].file, source->frames[i].line);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_rows(struct json_stream *json, const struct listing_subject *subject,
		     const struct event_columns *columns)
{
	const struct annotation *annotation = subject->annotation;
	json_stream_open(json, "rows", '[', JSON_LINES);
	for (size_t i = 0; i < annotation->row_count; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		json_stream_text(json, "kind", kinds[row->kind]);
		listing_json_add_vaddr(json, row);
		if (row->kind == ANNOTATED_INSTRUCTION)
			add_instruction(json, row);
		if (row->source != ANNOTATED_NO_SOURCE)
			add_source(json, &annotation->sources[row->source]);
		add_cells(json, columns, row->cells);
		listing_json_add_row_cycles(json, subject, row);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_lines(struct json_stream *json, const struct listing_subject *subject,
		      const struct event_columns *columns)
{
	const struct annotation *annotation = subject->annotation;
	json_stream_open(json, "lines", '[', JSON_LINES);
	for (size_t i = 0; i < annotation->line_count; i++) {
		const struct annotated_line *line = &annotation->lines[i];
		json_stream_open(json, NULL, '{', JSON_LINES);
		listing_json_add_line(json, line->file, line->line);
		json_stream_text(json, "inlined", line->function);
		json_stream_u64(json, "instructions", line->instructions);
		add_cells(json, columns, line->cells);
		listing_json_add_line_cycles(json, subject->cycles,
					     subject->lines ? &subject->lines[i] : NULL);
		json_stream_close(json, '}');
	}
	json_stream_close(json, ']');
}

static void add_procedure(struct json_stream *json, const struct listing_subject *subject,
			  const struct annotate_index *index)
{
	const struct annotation *annotation = subject->annotation;
	const struct procedure *shown = annotation->procedure->procedure;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_text(json, "name", shown->name);
	json_stream_text(json, "linkage", shown->linkage[0] ? shown->linkage : NULL);
	listing_json_add_code(json, annotation, index);
	json_stream_text(json, "isa",
			 annotation->isa == ISA_UNKNOWN ? NULL : isa_name(annotation->isa));
	json_stream_text(json, "no_code", annotation->no_code);
	json_stream_u64(json, "instructions", annotation->instructions);
	add_cells(json, index->columns, annotation->procedure->cells);
	json_stream_known(json, "late_samples", annotation->late_of, annotation->late_samples);
	listing_json_add_procedure_cycles(json, subject);
	add_rows(json, subject, index->columns);
	add_lines(json, subject, index->columns);
	json_stream_close(json, '}');
}

void listing_json_print(const struct listing_subject *const *subjects, size_t count,
			const struct annotate_index *index, const struct cycles *cycles,
			const char *const *notes, size_t note_count, struct buffer *out)
{
	struct json_stream stream = { .out = out }, *json = &stream;
	json_stream_open(json, NULL, '{', JSON_LINES);
	json_stream_u64(json, "schema", 1);
	add_events(json, index);
	listing_json_add_cycles(json, cycles);
	json_stream_open(json, "procedures", '[', JSON_LINES);
	for (size_t i = 0; i < count; i++)
		add_procedure(json, subjects[i], index);
	json_stream_close(json, ']');
	json_stream_texts(json, "notes", notes, note_count);
	json_stream_end(json, '}');
}
