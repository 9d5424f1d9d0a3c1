#include "analyze/cycles/cycles_lines.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/annotate_lines.h"

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
