#include "render/listing_cycles.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/cycles/cycles_rank.h"
#include "base/buffer.h"
#include "render/quantity.h"

#define CHARGED_WIDTH  8
#define EXECUTED_WIDTH 10 /* with the mark */
#define CPI_WIDTH      8
#define GAP	       2
#define SHOWN_LOOPS    3

static bool anything_known(const struct procedure_cycles *procedure)
{
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		if (procedure->frequencies.blocks[b].source != FREQUENCY_UNKNOWN)
			return true;
	return false;
}

double cycles_most_executed(const struct procedure_cycles *procedure)
{
	double most = 0;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		if (procedure->frequencies.blocks[b].value > most)
			most = procedure->frequencies.blocks[b].value;
	return most;
}

void cycle_columns_init(struct cycle_columns *columns, const struct procedure_cycles *procedure,
			const struct culprits *culprits)
{
	*columns = (struct cycle_columns){ 0 };
	if (!procedure || !anything_known(procedure))
		return;
	columns->procedure = procedure;
	columns->culprits = culprits;
	columns->has_cpi = !isnan(procedure->whole.cycles);
	columns->has_charged = columns->has_cpi && cycles_events(procedure->cycles)->skid > 0;
	columns->whole = cycles_weight(&procedure->whole);
	columns->most_executed = cycles_most_executed(procedure);
	columns->width = EXECUTED_WIDTH + GAP;
	if (columns->has_charged)
		columns->width += CHARGED_WIDTH + GAP;
	if (columns->has_cpi)
		columns->width += CPI_WIDTH + GAP;
}

/* ---- texts */

static bool counts_ns(const struct cycles_events *events, enum cycles_scale scale)
{
	return scale == CYCLES_ABSOLUTE && events->time_is_clock;
}

const char *cycles_unit_of(const struct cycles_events *events, enum cycles_scale scale)
{
	return scale == CYCLES_RELATIVE ? "cost" : counts_ns(events, scale) ? "ns" : "CPI";
}

const char *cycles_unit(const struct procedure_cycles *procedure)
{
	return cycles_unit_of(cycles_events(procedure->cycles), procedure->scale);
}

bool cycles_best_is_bound(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_RELATIVE ||
	       (procedure->scale == CYCLES_ABSOLUTE &&
		cycles_events(procedure->cycles)->time_is_clock);
}

void cycles_text_cpi(double cpi, char text[CYCLES_TEXT])
{
	if (isnan(cpi))
		snprintf(text, CYCLES_TEXT, "-");
	else if (isinf(cpi))
		snprintf(text, CYCLES_TEXT, "any");
	else
		snprintf(text, CYCLES_TEXT, "%.*f", cpi < 9.995 ? 2 : cpi < 99.95 ? 1 : 0, cpi);
}

void cycles_text_interval(double low, double high, char text[CYCLES_TEXT])
{
	char ends[2][CYCLES_TEXT];
	if (isnan(low) || isnan(high)) {
		snprintf(text, CYCLES_TEXT, "-");
		return;
	}
	cycles_text_cpi(low, ends[0]);
	cycles_text_cpi(high, ends[1]);
	if (isinf(high))
		snprintf(text, CYCLES_TEXT, "%.20s or more", ends[0]);
	else
		snprintf(text, CYCLES_TEXT, "%.20s to %.20s", ends[0], ends[1]);
}

static char mark_of(const struct frequency *frequency)
{
	switch (frequency->confidence) {
	case FREQUENCY_LOW:
		return '?';
	case FREQUENCY_MEDIUM:
		return '~';
	case FREQUENCY_HIGH:
		return '=';
	}
	return ' ';
}

void cycles_text_relative(double value, double most, char text[CYCLES_TEXT])
{
	double ratio = most > 0 ? value / most : NAN;
	if (isnan(ratio))
		snprintf(text, CYCLES_TEXT, "-");
	else if (ratio > 0 && ratio < 0.0005)
		snprintf(text, CYCLES_TEXT, "<0.001");
	else
		snprintf(text, CYCLES_TEXT, "%.3f", ratio);
}

void cycles_text_executions(const struct cycle_columns *columns, const struct frequency *frequency,
			    char text[CYCLES_TEXT])
{
	char number[QUANTITY_SIZE];
	double value = frequency->value;
	if (frequency->source == FREQUENCY_UNKNOWN || isnan(value)) {
		snprintf(text, CYCLES_TEXT, "-  ");
		return;
	}
	if (columns->procedure->scale == CYCLES_RELATIVE) {
		cycles_text_relative(value, columns->most_executed, number);
	} else if (value < 9.995) {
		snprintf(number, sizeof(number), "%.3g", value);
	} else {
		quantity_describe(value, (struct span){ "", 0 }, number);
	}
	snprintf(text, CYCLES_TEXT, "%.40s %c", number, mark_of(frequency));
}

/* The cost where no scale is known: relative to the procedure's average instruction. */
static void put_relative_cost(const struct cycles_cost *cost, struct buffer *out)
{
	char text[CYCLES_TEXT], interval[CYCLES_TEXT];
	cycles_text_cpi(cost->cpi, text);
	cycles_text_interval(cost->low, cost->high, interval);
	if (isnan(cost->cpi))
		buffer_append_text(out, "cost not known");
	else
		buffer_printf(out, "relative cost of an instruction %s", text);
	if (strcmp(interval, "-") != 0)
		buffer_printf(out, " (%s)", interval);
}

/* "best case 8.0/13 = 0.62 CPI, actual 140/13 = 10.77 CPI (10.70 to 10.84)", of a block or loop;
 * where no scale is known "relative cost of an instruction 2.10 (1.16 to 3.76)". */
static void put_cost(const struct cycle_columns *columns, const struct cycles_cost *cost,
		     double instructions, struct buffer *out)
{
	if (columns->procedure->scale == CYCLES_RELATIVE) {
		put_relative_cost(cost, out);
		return;
	}
	const char *unit = cycles_unit(columns->procedure);
	bool bound = columns->has_cpi && cycles_best_is_bound(columns->procedure);
	char cycles[CYCLES_TEXT], cpi[CYCLES_TEXT], interval[CYCLES_TEXT];
	cycles_text_cpi(cost->best_cpi * instructions, cycles);
	cycles_text_cpi(cost->best_cpi, cpi);
	if (isnan(cost->best_cpi))
		buffer_append_text(out, "best case not known");
	else
		buffer_printf(out, "best case %s/%.0f = %s%s %s", cycles, instructions,
			      bound ? "at most " : "", cpi, unit);
	if (!columns->has_cpi)
		return;
	cycles_text_cpi(cost->cpi * instructions, cycles);
	cycles_text_cpi(cost->cpi, cpi);
	cycles_text_interval(cost->low, cost->high, interval);
	if (isnan(cost->cpi)) {
		buffer_append_text(out, ", actual not known");
		return;
	}
	buffer_printf(out, ", actual %s/%.0f = %s %s", cycles, instructions, cpi, unit);
	if (strcmp(interval, "-") != 0)
		buffer_printf(out, " (%s)", interval);
}

void cycles_put_loops(const struct procedure_cycles *procedure, uint32_t loop, struct buffer *out)
{
	const struct cfg *cfg = &procedure->cfg;
	const struct flow_loops *loops = &procedure->loops;
	uint32_t more = 0;
	loop = cycles_shown_loop(loops, loop);
	for (int shown = 0; loop != FLOW_NO_LOOP; shown++) {
		const struct flow_loop *at = &loops->list[loop];
		if (shown < SHOWN_LOOPS)
			buffer_printf(out, "%s%" PRIx64,
				      shown == 0   ? "in the loop at "
				      : shown == 1 ? ", inside that at "
						   : ", ",
				      cfg->instructions[cfg->blocks[at->header].first].vaddr);
		else
			more++;
		loop = cycles_shown_loop(loops, at->parent);
	}
	if (more)
		buffer_printf(out, " and %" PRIu32 " more", more);
}

/* ---- columns */

static void put_column(struct buffer *out, int width, const char *text)
{
	buffer_printf(out, "%*s%*s", width, text, GAP, "");
}

void cycle_columns_head(const struct cycle_columns *columns, struct buffer *above,
			struct buffer *beside)
{
	if (!columns->procedure)
		return;
	bool relative = columns->procedure->scale == CYCLES_RELATIVE;
	if (columns->has_charged) {
		put_column(above, CHARGED_WIDTH, "samples");
		put_column(beside, CHARGED_WIDTH, "charged");
	}
	put_column(above, EXECUTED_WIDTH,
		   relative					  ? "relative"
		   : columns->procedure->scale == CYCLES_BY_CLOCK ? "per GHz"
								  : "");
	put_column(beside, EXECUTED_WIDTH, "executed  ");
	if (columns->has_cpi) {
		put_column(above, CPI_WIDTH, relative ? "relative" : "");
		put_column(beside, CPI_WIDTH, cycles_unit(columns->procedure));
	}
}

uint32_t cycle_columns_instruction(const struct cycle_columns *columns, uint64_t vaddr)
{
	if (!columns->procedure)
		return CFG_NO_INSTRUCTION;
	const struct cfg *cfg = &columns->procedure->cfg;
	uint32_t found = cfg_instruction_at(cfg, vaddr);
	return found != CFG_NO_INSTRUCTION && cfg->instructions[found].vaddr == vaddr
		       ? found
		       : CFG_NO_INSTRUCTION;
}

uint32_t cycle_columns_block(const struct cycle_columns *columns, uint32_t instruction)
{
	return instruction == CFG_NO_INSTRUCTION
		       ? CFG_NO_BLOCK
		       : cfg_block_of(&columns->procedure->cfg, instruction);
}

/* Charged samples are shared out among blocks, so they need not be whole numbers. */
static void text_charged(double samples, char text[CYCLES_TEXT])
{
	if (samples <= 0)
		*text = 0;
	else if (samples < 0.05)
		snprintf(text, CYCLES_TEXT, "<0.1");
	else
		snprintf(text, CYCLES_TEXT, "%.*f", samples < 9.95 ? 1 : 0, samples);
}

/* Whether, on an in-order processor, it issues in the cycle of the one before it, and its samples
 * do not contradict that. */
static bool issues_along(const struct procedure_cycles *procedure, uint32_t instruction)
{
	const struct cycles_cost *cost = &procedure->instructions[instruction];
	return procedure->pipeline->in_order && procedure->schedule[instruction].head_cycles == 0 &&
	       !(cost->low > 0);
}

void cycle_columns_print(const struct cycle_columns *columns, uint32_t instruction,
			 uint32_t shown_block, struct buffer *out)
{
	const struct procedure_cycles *procedure = columns->procedure;
	char text[CYCLES_TEXT];
	if (!procedure || instruction == CFG_NO_INSTRUCTION) {
		cycle_columns_print_blank(columns, out);
		return;
	}
	const struct cycles_cost *cost = &procedure->instructions[instruction];
	uint32_t block = cfg_block_of(&procedure->cfg, instruction);
	if (columns->has_charged) {
		text_charged(cost->samples, text);
		put_column(out, CHARGED_WIDTH, text);
	}
	*text = 0;
	if (block != shown_block)
		cycles_text_executions(columns, &procedure->frequencies.blocks[block], text);
	put_column(out, EXECUTED_WIDTH, text);
	if (!columns->has_cpi)
		return;
	if (issues_along(procedure, instruction))
		snprintf(text, sizeof(text), "dual");
	else if (cost->samples > 0)
		cycles_text_cpi(cost->cpi, text);
	else
		*text = 0;
	put_column(out, CPI_WIDTH, text);
}

void cycle_columns_line_head(const struct cycle_columns *columns, struct buffer *above,
			     struct buffer *beside)
{
	if (!columns->has_cpi)
		return;
	put_column(above, CPI_WIDTH,
		   columns->procedure->scale == CYCLES_RELATIVE ? "relative" : "");
	put_column(beside, CPI_WIDTH, cycles_unit(columns->procedure));
}

void cycle_columns_print_line(const struct cycle_columns *columns, const struct cycles_cost *cost,
			      struct buffer *out)
{
	char text[CYCLES_TEXT] = "";
	if (!columns->has_cpi)
		return;
	if (cost)
		cycles_text_cpi(cost->cpi, text);
	put_column(out, CPI_WIDTH, text);
}

void cycle_columns_print_blank(const struct cycle_columns *columns, struct buffer *out)
{
	buffer_printf(out, "%*s", columns->width, "");
}

void cycle_columns_put_bubble(const struct cycle_columns *columns, const char *letters,
			      const char *lost, struct buffer *out)
{
	put_column(out, columns->width - CPI_WIDTH - 2 * GAP, letters);
	put_column(out, CPI_WIDTH, lost);
}

/* ---- blocks */

bool cycle_columns_block_matters(const struct cycle_columns *columns, uint32_t block)
{
	return columns->whole > 0 && 100 * cycles_weight(&columns->procedure->blocks[block]) >=
					     LISTING_BLOCK_PERCENT * columns->whole;
}

void cycle_columns_print_block(const struct cycle_columns *columns, uint32_t instruction,
			       struct buffer *out)
{
	const struct procedure_cycles *procedure = columns->procedure;
	char percent[QUANTITY_SIZE];
	if (!procedure || instruction == CFG_NO_INSTRUCTION)
		return;
	uint32_t number = cfg_block_of(&procedure->cfg, instruction);
	const struct cfg_block *block = &procedure->cfg.blocks[number];
	const struct cycles_cost *cost = &procedure->blocks[number];
	if (block->first != instruction || !cycle_columns_block_matters(columns, number))
		return;
	quantity_percent(cycles_weight(cost), columns->whole, percent);
	buffer_printf(out, "  block %" PRIx64 "-%" PRIx64 ": %s of %s; ",
		      procedure->cfg.instructions[instruction].vaddr,
		      procedure->cfg.instructions[instruction + block->count - 1].vaddr, percent,
		      columns->has_cpi ? "time" : "instructions");
	put_cost(columns, cost, block->count, out);
	if (procedure->loops.of_block[number] != FLOW_NO_LOOP) {
		buffer_append_text(out, "; ");
		cycles_put_loops(procedure, procedure->loops.of_block[number], out);
	}
	buffer_append_u8(out, '\n');
}
