#include "analyze/code/annotate_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/record.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_frames(const struct annotated_source *source, const struct source_frame *frames,
			size_t count)
{
	if (source->count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (source->frames[i].line != frames[i].line ||
		    !same_text(source->frames[i].file, frames[i].file) ||
		    !same_text(source->frames[i].function, frames[i].function))
			return false;
	return true;
}

/* Finds the source at an address; it shares the last one if that is the same. 0 or -ENOMEM. */
static int source_at(struct annotation *annotation, struct resolver *resolver, uint64_t vaddr,
		     size_t *capacity, uint32_t *source)
{
	const struct procedure *procedure = annotation->procedure->procedure;
	const struct place *place = resolver_place_in_file(resolver, procedure->image, vaddr);
	if (!place)
		return -ENOMEM;
	const struct source_frame *frames;
	size_t count = resolver_source(resolver, place, &frames);
	*source = ANNOTATED_NO_SOURCE;
	if (count == 0)
		return 0;
	size_t last = annotation->source_count;
	if (last && same_frames(&annotation->sources[last - 1], frames, count)) {
		*source = (uint32_t)(last - 1);
		return 0;
	}
	if (array_reserve(&annotation->sources, capacity, last, sizeof(*annotation->sources)) < 0)
		return -ENOMEM;
	annotation->sources[last] = (struct annotated_source){ frames, count };
	annotation->source_count++;
	annotation->has_source = true;
	*source = (uint32_t)last;
	return 0;
}

int annotate_add_sources(struct annotation *annotation, struct resolver *resolver)
{
	const struct lines_table *table =
		resolver_lines(resolver, annotation->procedure->procedure);
	size_t next = 0; /* row of the table */
	size_t capacity = 0;
	uint32_t source = ANNOTATED_NO_SOURCE;
	for (size_t i = 0; i < annotation->row_count; i++) {
		struct annotated_row *row = &annotation->rows[i];
		if (row->kind == ANNOTATED_NAME || (table && row->vaddr > table->last))
			continue;
		/* within a row of the line table the source is the same: look it up once */
		bool changed = !table;
		for (; table && next < table->row_count && table->rows[next].vaddr <= row->vaddr;
		     next++)
			changed = true;
		if (changed) {
			int ret = source_at(annotation, resolver, row->vaddr, &capacity, &source);
			if (ret < 0)
				return ret;
		}
		row->source = source;
	}
	return 0;
}

/* Files by name, then lines; what is unknown comes last. */
static int compare_lines(const void *left, const void *right)
{
	const struct annotated_line *a = left, *b = right;
	if (!a->file != !b->file)
		return a->file ? -1 : 1;
	int order = a->file ? strcmp(a->file, b->file) : 0;
	if (order)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (!a->function != !b->function)
		return a->function ? 1 : -1;
	return a->function ? strcmp(a->function, b->function) : 0;
}

static void place_line(const struct annotation *annotation, const struct annotated_row *row,
		       struct annotated_line *line)
{
	if (row->source == ANNOTATED_NO_SOURCE)
		return;
	const struct annotated_source *source = &annotation->sources[row->source];
	line->file = source->frames[0].file;
	line->line = source->frames[0].line;
	line->function = source->frames[0].function;
}

size_t annotate_line_of(const struct annotation *annotation, const struct annotated_row *row)
{
	struct annotated_line line = { 0 };
	place_line(annotation, row, &line);
	const struct annotated_line *found =
		bsearch(&line, annotation->lines, annotation->line_count,
			sizeof(*annotation->lines), compare_lines);
	return (size_t)(found - annotation->lines);
}

static void add_cells(struct cell *into, const struct cell *from, size_t columns)
{
	for (size_t c = 0; c < columns; c++)
		cell_add(&into[c], &from[c]);
}

int annotate_add_lines(struct annotation *annotation, size_t columns)
{
	size_t count = annotation->row_count;
	annotation->lines = calloc(count + 1, sizeof(*annotation->lines));
	annotation->line_cells = calloc(count * columns + 1, sizeof(struct cell));
	if (!annotation->lines || !annotation->line_cells)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		struct annotated_line *line = &annotation->lines[i];
		line->cells = row->cells;
		line->instructions = row->kind == ANNOTATED_INSTRUCTION;
		place_line(annotation, row, line);
	}
	qsort(annotation->lines, count, sizeof(*annotation->lines), compare_lines);
	for (size_t i = 0; i < count; i++) {
		struct annotated_line *line = &annotation->lines[i];
		struct annotated_line *last =
			annotation->line_count ? &annotation->lines[annotation->line_count - 1]
					       : NULL;
		if (last && compare_lines(last, line) == 0) {
			last->instructions += line->instructions;
			add_cells(last->cells, line->cells, columns);
			continue;
		}
		struct cell *own = annotation->line_cells + annotation->line_count * columns;
		add_cells(own, line->cells, columns);
		annotation->lines[annotation->line_count] = *line;
		annotation->lines[annotation->line_count++].cells = own;
	}
	return 0;
}
