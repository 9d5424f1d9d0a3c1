/* A procedure's loops and blocks as a table, the dearest first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_rank.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/listing_parts.h"
#include "render/quantity.h"

#define MAX_COLUMNS 7
#define MAX_INDENT  12 /* loops in each other; deeper ones are no further to the right */

struct layout {
	const struct cycle_columns *columns;
	const uint32_t *loop_instructions; /* with those of the loops inside */
	bool has_interval;		   /* of some part's CPI */
	bool has_best;			   /* a scale to say it on */
	struct text_table table;
};

static uint32_t *instructions_of_loops(const struct procedure_cycles *procedure)
{
	const struct flow_loops *loops = &procedure->loops;
	uint32_t *sums = calloc((size_t)loops->count + 1, sizeof(*sums));
	if (!sums)
		return NULL;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		if (loops->of_block[b] != FLOW_NO_LOOP)
			sums[loops->of_block[b]] += procedure->cfg.blocks[b].count;
	for (uint32_t l = loops->count; l-- > 0;)
		if (loops->list[l].parent != FLOW_NO_LOOP)
			sums[loops->list[l].parent] += sums[l];
	return sums;
}

static const struct cycles_cost *cost_of(const struct procedure_cycles *procedure,
					 const struct ranked_part *part)
{
	return part->is_loop ? &procedure->loop_costs[part->number]
			     : &procedure->blocks[part->number];
}

static void add_head(struct layout *layout)
{
	const struct cycle_columns *columns = layout->columns;
	struct text_table *table = &layout->table;
	const char *unit = cycles_unit(columns->procedure);
	text_table_add(table, TEXT_PLAIN, "%s", columns->has_cpi ? "% of time" : "% of instr.");
	text_table_add(table, TEXT_PLAIN, "executed  ");
	if (layout->has_best)
		text_table_add(table, TEXT_PLAIN, "best %s", unit);
	if (columns->has_cpi)
		text_table_add(table, TEXT_PLAIN, layout->has_best ? "actual" : "cost");
	if (layout->has_interval)
		text_table_add(table, TEXT_PLAIN, "95 %%");
	text_table_add(table, TEXT_PLAIN, "instr.");
	text_table_add(table, TEXT_PLAIN, "where%s",
		       columns->procedure->scale == CYCLES_RELATIVE
			       ? " (executed and cost are relative)"
		       : columns->has_cpi && cycles_best_is_bound(columns->procedure)
			       ? " (best is the most it can be)"
			       : "");
}

static void add_where(struct layout *layout, const struct ranked_part *part)
{
	const struct procedure_cycles *procedure = layout->columns->procedure;
	const struct cfg *cfg = &procedure->cfg;
	int indent = part->depth < MAX_INDENT ? (int)part->depth * 2 : MAX_INDENT * 2;
	if (!part->is_loop) {
		const struct cfg_block *block = &cfg->blocks[part->number];
		text_table_add(&layout->table, TEXT_PLAIN, "%*sblock %" PRIx64 "-%" PRIx64 "%s",
			       indent, "", cfg->instructions[block->first].vaddr,
			       cfg->instructions[block->first + block->count - 1].vaddr,
			       cfg->parts[block->part].is_cold ? ", in the cold part" : "");
		return;
	}
	const struct flow_loop *loop = &procedure->loops.list[part->number];
	text_table_add(&layout->table, TEXT_BOLD, "%*sloop at %" PRIx64 ", %" PRIu32 " block%s%s",
		       indent, "", cfg->instructions[cfg->blocks[loop->header].first].vaddr,
		       loop->block_count, loop->block_count == 1 ? "" : "s",
		       loop->irreducible ? ", entered in more than one place" : "");
}

static void add_part(struct layout *layout, const struct ranked_part *part)
{
	const struct cycle_columns *columns = layout->columns;
	const struct procedure_cycles *procedure = columns->procedure;
	const struct cycles_cost *cost = cost_of(procedure, part);
	uint32_t block = part->is_loop ? procedure->loops.list[part->number].header : part->number;
	enum text_style style = part->is_loop ? TEXT_BOLD : TEXT_PLAIN;
	struct text_table *table = &layout->table;
	char text[CYCLES_TEXT], percent[QUANTITY_SIZE];
	quantity_percent(cycles_weight(cost), columns->whole, percent);
	text_table_add(table, style, "%s", percent);
	cycles_text_executions(columns, &procedure->frequencies.blocks[block], text);
	text_table_add(table, style, "%s", text);
	cycles_text_cpi(cost->best_cpi, text);
	if (layout->has_best)
		text_table_add(table, style, "%s", text);
	cycles_text_cpi(cost->cpi, text);
	if (columns->has_cpi)
		text_table_add(table, style, "%s", text);
	cycles_text_interval(cost->low, cost->high, text);
	if (layout->has_interval)
		text_table_add(table, style, "%s", text);
	text_table_add(table, style, "%" PRIu32,
		       part->is_loop ? layout->loop_instructions[part->number]
				     : procedure->cfg.blocks[part->number].count);
	add_where(layout, part);
}

/* Parts below the limit are left out, and their number is said. */
static size_t add_parts(struct layout *layout, const struct ranked_part *parts, size_t count,
			double min_percent)
{
	const struct procedure_cycles *procedure = layout->columns->procedure;
	size_t left_out = 0;
	for (size_t i = 0; i < count; i++) {
		double weight = cycles_weight(cost_of(procedure, &parts[i]));
		if (100 * weight < min_percent * layout->columns->whole)
			left_out++;
		else
			add_part(layout, &parts[i]);
	}
	return left_out;
}

static void print_table(const struct listing *listing)
{
	const struct procedure_cycles *procedure = listing->subject->cycles;
	CLEANUP(free_pointer) uint32_t *loops = instructions_of_loops(procedure);
	CLEANUP(free_pointer) struct ranked_part *parts = NULL;
	size_t count;
	if (!loops || cycles_rank(procedure, &parts, &count) < 0) {
		listing->out->failed = true;
		return;
	}
	struct layout layout = { .columns = &listing->cycles, .loop_instructions = loops };
	for (size_t i = 0; i < count; i++)
		layout.has_interval |= !isnan(cost_of(procedure, &parts[i])->low);
	enum text_align align[MAX_COLUMNS];
	layout.has_best = procedure->scale != CYCLES_RELATIVE;
	size_t columns = 4 + layout.has_best + listing->cycles.has_cpi + layout.has_interval;
	for (size_t c = 0; c < columns; c++)
		align[c] = c + 1 < columns ? TEXT_RIGHT : TEXT_LEFT;
	text_table_init(&layout.table, align, columns);
	add_head(&layout);
	size_t left_out = add_parts(&layout, parts, count, listing->options->min_percent);
	text_table_print(&layout.table, listing->options->colour, listing->out);
	text_table_release(&layout.table);
	if (left_out)
		buffer_printf(listing->out, "%zu more below %g %%\n", left_out,
			      listing->options->min_percent);
}

void listing_print_blocks(const struct listing_subject *subject, const struct annotate_index *index,
			  const struct listing_options *options, struct buffer *out)
{
	struct listing listing;
	if (!listing_begin(&listing, subject, index, options, out))
		return;
	if (listing.cycles.procedure)
		print_table(&listing);
	listing_end(&listing);
}
