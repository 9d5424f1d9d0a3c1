#include "render/listing_json.h"

#include <stdio.h>

#include "analyze/cycles/cycles.h"
#include "base/buffer.h"
#include "render/json_value.h"
#include "render/listing_cycles_json.h"
#include "render/listing_json_parts.h"

/* ---- what a comparison of two versions holds too */

void listing_json_add_code(struct json_writer *writer, struct json_object *object,
			   const struct annotation *annotation, const struct annotate_index *index)
{
	const struct procedure *procedure = annotation->procedure->procedure;
	const char *image_name = annotation->procedure->image_name;
	struct profile_image image = { 0 };
	if (procedure->image)
		image = profile_image(index->profile, procedure->image);
	json_add_text(writer, object, "image", image_name[0] ? image_name : NULL);
	json_add_bytes(writer, object, "build_id", image.build_id);
	json_add_writer(writer, object, image.writer);
	if (procedure->extent_known) {
		json_add_hex(writer, object, "first_vaddr", procedure->first);
		json_add_hex(writer, object, "last_vaddr", procedure->last);
	} else {
		json_add_null(writer, object, "first_vaddr");
		json_add_null(writer, object, "last_vaddr");
	}
}

void listing_json_add_vaddr(struct json_writer *writer, struct json_object *object,
			    const struct annotated_row *row)
{
	if (row->kind == ANNOTATED_NAME)
		json_add_null(writer, object, "vaddr");
	else
		json_add_hex(writer, object, "vaddr", row->vaddr);
}

void listing_json_add_text(struct json_writer *writer, struct json_object *object,
			   const struct annotated_row *row)
{
	char text[INSTRUCTION_MNEMONIC_BYTES + INSTRUCTION_OPERANDS_BYTES];
	snprintf(text, sizeof(text), "%s%s%s", row->mnemonic, row->operands[0] ? " " : "",
		 row->operands);
	json_add_text(writer, object, "text", text);
}

void listing_json_add_line(struct json_writer *writer, struct json_object *object, const char *file,
			   uint64_t line)
{
	json_add_text(writer, object, "file", file);
	if (line)
		json_add_u64(writer, object, "line", line);
	else
		json_add_null(writer, object, "line");
}

/* ---- counts */

static void add_cell(struct json_writer *writer, struct json_object *array,
		     const struct event_column *event, const struct cell *cell)
{
	struct json_object *object = json_new_object(writer);
	if (event->sampled)
		json_add_u64(writer, object, "samples", cell->samples);
	else
		json_add_null(writer, object, "samples");
	if (event->scale)
		json_add_double(writer, object, "estimate",
				(double)cell->estimate / event_column_divisor(event));
	else
		json_add_u64(writer, object, "estimate", cell->estimate);
	json_append(writer, array, object);
}

/* By event, in the order of "events". */
static void add_cells(struct json_writer *writer, struct json_object *object,
		      const struct event_columns *columns, const struct cell *cells)
{
	struct json_object *array = json_new_array(writer);
	for (size_t c = 0; c < columns->count; c++)
		add_cell(writer, array, &columns->list[c], &cells[c]);
	json_add(writer, object, "counts", array);
}

static struct json_object *events(struct json_writer *writer, const struct annotate_index *index)
{
	struct json_object *array = json_new_array(writer);
	for (size_t c = 0; c < index->columns->count; c++) {
		const struct event_column *event = &index->columns->list[c];
		struct json_object *object = json_new_object(writer);
		json_add_span(writer, object, "name", event->name);
		json_add_span(writer, object, "unit", event->unit);
		json_add_span(writer, object, "core_type", event->core_type);
		json_add_bool(writer, object, "sampled", event->sampled);
		if (event->skid)
			json_add_u64(writer, object, "skid_instructions", event->skid - 1);
		else
			json_add_null(writer, object, "skid_instructions");
		struct json_object *all = json_new_array(writer);
		add_cell(writer, all, event, &index->whole[c]);
		json_add(writer, object, "all", all);
		json_append(writer, array, object);
	}
	return array;
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

static void add_instruction(struct json_writer *writer, struct json_object *object,
			    const struct annotated_row *row)
{
	json_add_bytes(writer, object, "bytes", (struct span){ row->bytes, row->length_bytes });
	listing_json_add_text(writer, object, row);
	json_add_text(writer, object, "flow", flows[row->instruction]);
	if (row->has_target)
		json_add_hex(writer, object, "target_vaddr", row->target);
	if (row->has_target && !row->target_here)
		json_add_text(writer, object, "target_procedure", row->target_name);
	if (row->has_reference)
		json_add_hex(writer, object, "reference_vaddr", row->reference);
}

static void add_source(struct json_writer *writer, struct json_object *object,
		       const struct annotated_source *source)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < source->count; i++) {
		struct json_object *frame = json_new_object(writer);
		json_add_text(writer, frame, "inlined", source->frames[i].function);
		listing_json_add_line(writer, frame, source->frames[i].file,
				      source->frames[i].line);
		json_append(writer, array, frame);
	}
	json_add(writer, object, "source", array);
}

static struct json_object *rows(struct json_writer *writer, const struct listing_subject *subject,
				const struct event_columns *columns)
{
	const struct annotation *annotation = subject->annotation;
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < annotation->row_count; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		struct json_object *object = json_new_object(writer);
		json_add_text(writer, object, "kind", kinds[row->kind]);
		listing_json_add_vaddr(writer, object, row);
		if (row->kind == ANNOTATED_INSTRUCTION)
			add_instruction(writer, object, row);
		if (row->source != ANNOTATED_NO_SOURCE)
			add_source(writer, object, &annotation->sources[row->source]);
		add_cells(writer, object, columns, row->cells);
		listing_json_add_row_cycles(writer, object, subject, row);
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *lines(struct json_writer *writer, const struct listing_subject *subject,
				 const struct event_columns *columns)
{
	const struct annotation *annotation = subject->annotation;
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < annotation->line_count; i++) {
		const struct annotated_line *line = &annotation->lines[i];
		struct json_object *object = json_new_object(writer);
		listing_json_add_line(writer, object, line->file, line->line);
		json_add_text(writer, object, "inlined", line->function);
		json_add_u64(writer, object, "instructions", line->instructions);
		add_cells(writer, object, columns, line->cells);
		listing_json_add_line_cycles(writer, object, subject->cycles,
					     subject->lines ? &subject->lines[i] : NULL);
		json_append(writer, array, object);
	}
	return array;
}

static struct json_object *procedure(struct json_writer *writer,
				     const struct listing_subject *subject,
				     const struct annotate_index *index)
{
	const struct annotation *annotation = subject->annotation;
	const struct procedure *shown = annotation->procedure->procedure;
	struct json_object *object = json_new_object(writer);
	json_add_text(writer, object, "name", shown->name);
	json_add_text(writer, object, "linkage", shown->linkage[0] ? shown->linkage : NULL);
	listing_json_add_code(writer, object, annotation, index);
	json_add_text(writer, object, "isa",
		      annotation->isa == ISA_UNKNOWN ? NULL : isa_name(annotation->isa));
	json_add_text(writer, object, "no_code", annotation->no_code);
	json_add_u64(writer, object, "instructions", annotation->instructions);
	add_cells(writer, object, index->columns, annotation->procedure->cells);
	if (annotation->late_of)
		json_add_u64(writer, object, "late_samples", annotation->late_samples);
	else
		json_add_null(writer, object, "late_samples");
	listing_json_add_procedure_cycles(writer, object, subject);
	json_add(writer, object, "rows", rows(writer, subject, index->columns));
	json_add(writer, object, "lines", lines(writer, subject, index->columns));
	return object;
}

void listing_json_print(const struct listing_subject *const *subjects, size_t count,
			const struct annotate_index *index, const struct cycles *cycles,
			const char *const *notes, size_t note_count, struct buffer *out)
{
	struct json_writer writer = { 0 };
	struct json_object *document = json_new_object(&writer);
	json_add_u64(&writer, document, "schema", 1);
	json_add(&writer, document, "events", events(&writer, index));
	listing_json_add_cycles(&writer, document, cycles);
	struct json_object *list = json_new_array(&writer);
	for (size_t i = 0; i < count; i++)
		json_append(&writer, list, procedure(&writer, subjects[i], index));
	json_add(&writer, document, "procedures", list);
	json_add_texts(&writer, document, "notes", notes, note_count);
	json_finish(&writer, document, out);
}
