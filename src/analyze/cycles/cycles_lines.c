#include "analyze/cycles/cycles_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/code/annotate_lines.h"
#include "analyze/cycles/charge_table.h"
#include "base/cleanup.h"

static void add_row(const struct procedure_cycles *procedure, const struct annotated_row *row,
		    struct cycles_cost *line)
{
	uint32_t instruction = cfg_instruction_at(&procedure->cfg, row->vaddr);
	if (row->kind != ANNOTATED_INSTRUCTION || instruction == CFG_NO_INSTRUCTION ||
	    procedure->cfg.instructions[instruction].vaddr != row->vaddr)
		return;
	const struct cycles_cost *cost = &procedure->instructions[instruction];
	line->samples += cost->samples;
	line->cycles += cost->cycles;
	line->executed += cost->executed;
	line->best_cycles += cost->best_cycles;
}

int cycles_of_lines(const struct procedure_cycles *procedure, const struct annotation *annotation,
		    struct cycles_cost **lines)
{
	struct cycles_cost *list = calloc(annotation->line_count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < annotation->row_count; i++)
		add_row(procedure, &annotation->rows[i],
			&list[annotate_line_of(annotation, &annotation->rows[i])]);
	for (size_t i = 0; i < annotation->line_count; i++) {
		list[i].cpi = list[i].executed > 0 ? list[i].cycles / list[i].executed : NAN;
		list[i].best_cpi =
			list[i].executed > 0 ? list[i].best_cycles / list[i].executed : NAN;
		list[i].low = list[i].high = NAN;
	}
	*lines = list;
	return 0;
}

static int compare_vaddr(const void *key, const void *element)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct annotated_row *)element)->vaddr;
	return (a > b) - (a < b);
}

/* The cells of the line that an instruction belongs to; those of `otherwise` where the annotation
 * does not have it. */
static struct cell *cells_of(struct annotation *annotation, uint64_t vaddr,
			     const struct annotated_row *otherwise)
{
	const struct annotated_row *row = bsearch(&vaddr, annotation->rows, annotation->row_count,
						  sizeof(*annotation->rows), compare_vaddr);
	return annotation->lines[annotate_line_of(annotation, row ? row : otherwise)].cells;
}

/* Moves the row's samples of a column from its line to the lines that they are charged to. */
static int charge_row(struct annotation *annotation, const struct annotated_row *row, size_t column,
		      const struct charge_table *table)
{
	const struct cell *whole = &row->cells[column];
	size_t count;
	const struct charge *charges = charge_table_find(table, row->vaddr, &count);
	if (!charges || cell_is_empty(whole))
		return 0;
	CLEANUP(free_pointer) struct cell *parts = calloc(count + 1, sizeof(*parts));
	if (!parts)
		return -ENOMEM;
	charge_split(whole, charges, count, parts);
	struct cell *from = &cells_of(annotation, row->vaddr, row)[column];
	*from = cell_without(from, whole);
	for (size_t i = 0; i < count; i++)
		cell_add(&cells_of(annotation, charges[i].vaddr, row)[column], &parts[i]);
	return 0;
}

static int charge_column(struct annotation *annotation, size_t column,
			 const struct charge_table *table)
{
	int ret = 0;
	for (size_t i = 0; i < annotation->row_count && ret == 0; i++)
		if (annotation->rows[i].kind == ANNOTATED_INSTRUCTION)
			ret = charge_row(annotation, &annotation->rows[i], column, table);
	annotation->lines_charged = true;
	return ret;
}

int cycles_charge_lines(const struct procedure_cycles *procedure, struct annotation *annotation)
{
	const struct event_columns *columns = cycles_index(procedure->cycles)->columns;
	CLEANUP(charge_table_release) struct charge_table table = { 0 };
	unsigned made = 0;
	int ret = 0;
	for (size_t c = 0; c < columns->count && ret == 0; c++) {
		unsigned skid = cycles_skid_of(procedure->cycles, &columns->list[c]);
		if (skid && skid != made) {
			charge_table_release(&table);
			ret = charge_table_init(procedure, skid, &table);
			made = skid;
		}
		if (skid && ret == 0)
			ret = charge_column(annotation, c, &table);
	}
	return ret;
}
