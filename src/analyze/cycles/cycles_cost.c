/*
 * Costs of instructions, and their sums over blocks, loops and the procedure.
 * docs/methods.md, "Cycles", has the formulas.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_private.h"
#include "analyze/figures/interval.h"
#include "base/cleanup.h"

/* `executed_low` and `executed_high` are `executed` at the ends of its own interval. */
static void finish(struct cycles_cost *cost, double executed_low, double executed_high,
		   double mean_weight)
{
	cost->cpi = cost->executed > 0 ? cost->cycles / cost->executed : NAN;
	cost->best_cpi = cost->executed > 0 ? cost->best_cycles / cost->executed : NAN;
	cost->low = cost->high = NAN;
	if (isnan(cost->cpi) || isnan(executed_low) || isnan(executed_high) || executed_high <= 0)
		return;
	if (cost->samples <= 0) {
		cost->low = 0;
		cost->high = executed_low > 0 ? interval_count_high(0) * mean_weight / executed_low
					      : INFINITY;
		return;
	}
	double below = hypot(1 - interval_count_low(cost->samples) / cost->samples,
			     1 - cost->executed / executed_high);
	cost->low = cost->cpi * fmax(0, 1 - below);
	cost->high =
		executed_low > 0
			? cost->cpi *
				  (1 + hypot(interval_count_high(cost->samples) / cost->samples - 1,
					     cost->executed / executed_low - 1))
			: INFINITY;
}

static void add(struct cycles_cost *sum, const struct cycles_cost *part)
{
	sum->samples += part->samples;
	sum->cycles += part->cycles;
	sum->executed += part->executed;
	sum->best_cycles += part->best_cycles;
}

/* The interval of the instructions executed in a block or loop. */
struct executed {
	double low, high;
};

static void cost_of_block(struct procedure_cycles *procedure, uint32_t b,
			  const struct cycles_samples *charged, double mean_weight,
			  struct executed *executed)
{
	const struct cfg_block *block = &procedure->cfg.blocks[b];
	const struct frequency *frequency = &procedure->frequencies.blocks[b];
	struct cycles_cost *sum = &procedure->blocks[b];
	*sum = (struct cycles_cost){ 0 };
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		struct cycles_cost *cost = &procedure->instructions[i];
		*cost = (struct cycles_cost){
			.samples = charged ? charged->samples[i] : NAN,
			.cycles = charged ? charged->events[i] : NAN,
			.executed = frequency->value,
			/* best_cycles is scaled later, when `cycle` is known */
			.best_cycles = frequency->value * procedure->schedule[i].head_cycles,
		};
		/* intervals of relative executions are relative to the hottest block's */
		if (procedure->frequencies.is_relative)
			finish(cost, NAN, NAN, mean_weight);
		else
			finish(cost, frequency->low, frequency->high, mean_weight);
		add(sum, cost);
	}
	/* Out of order the units may bound a block more than the width does. */
	if (!procedure->pipeline->in_order) {
		const struct schedule_bounds *bounds = &procedure->bounds[b];
		sum->best_cycles =
			frequency->value * fmax(bounds->width_cycles, bounds->unit_cycles);
	}
	*executed =
		(struct executed){ frequency->low * block->count, frequency->high * block->count };
	finish(sum, executed->low, executed->high, mean_weight);
}

/* Loops have smaller numbers than those inside them. */
static void costs_of_loops(struct procedure_cycles *procedure, const struct executed *blocks,
			   struct executed *loops, double mean_weight)
{
	const struct flow_loops *found = &procedure->loops;
	for (uint32_t l = 0; l < found->count; l++) {
		procedure->loop_costs[l] = (struct cycles_cost){ 0 };
		loops[l] = (struct executed){ 0 };
	}
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		uint32_t l = found->of_block[b];
		if (l == FLOW_NO_LOOP)
			continue;
		add(&procedure->loop_costs[l], &procedure->blocks[b]);
		loops[l].low += blocks[b].low;
		loops[l].high += blocks[b].high;
	}
	for (uint32_t l = found->count; l-- > 0;) {
		uint32_t parent = found->list[l].parent;
		finish(&procedure->loop_costs[l], loops[l].low, loops[l].high, mean_weight);
		if (parent == FLOW_NO_LOOP)
			continue;
		add(&procedure->loop_costs[parent], &procedure->loop_costs[l]);
		loops[parent].low += loops[l].low;
		loops[parent].high += loops[l].high;
	}
}

/* The same as cycles_most_of_cycle(), by the best cases that are shown. */
static double most_of_cycle_by_best_cases(const struct procedure_cycles *procedure)
{
	const struct flow_loops *loops = &procedure->loops;
	double least = procedure->whole.best_cycles > 0
			       ? procedure->whole.cycles / procedure->whole.best_cycles
			       : NAN;
	for (uint32_t l = 0; l < loops->count; l++) {
		const struct cycles_cost *cost = &procedure->loop_costs[l];
		if (cost->samples >= CYCLES_POOL_SAMPLES && cost->best_cycles > 0)
			least = fmin(least, cost->cycles / cost->best_cycles);
	}
	return least;
}

static void scale_best(struct cycles_cost *costs, size_t count, double cycle)
{
	for (size_t i = 0; i < count; i++) {
		costs[i].best_cycles *= cycle;
		costs[i].best_cpi *= cycle;
	}
}

static void sum_of_whole(struct procedure_cycles *procedure, const struct executed *blocks,
			 double mean_weight)
{
	struct executed executed = { 0 };
	procedure->whole = (struct cycles_cost){ 0 };
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		add(&procedure->whole, &procedure->blocks[b]);
		executed.low += blocks[b].low;
		executed.high += blocks[b].high;
	}
	if (procedure->frequencies.is_relative)
		executed.low = executed.high = NAN; /* of blocks they are relative to each other */
	finish(&procedure->whole, executed.low, executed.high, mean_weight);
}

/* Whether a CPI is in cycles of the processor, and so can be compared with its tables. */
static bool cycles_are_counted(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_BY_CLOCK ||
	       (procedure->scale == CYCLES_ABSOLUTE &&
		!cycles_events(procedure->cycles)->time_is_clock);
}

int cycles_sum_up(struct procedure_cycles *procedure, const struct cycles_samples *charged)
{
	uint32_t blocks = procedure->cfg.graph.block_count, loops = procedure->loops.count;
	double mean_weight =
		charged && charged->sample_sum > 0 ? charged->event_sum / charged->sample_sum : NAN;
	CLEANUP(free_pointer)
	struct executed *executed = calloc((size_t)blocks + loops + 1, sizeof(*executed));
	procedure->instructions = calloc((size_t)procedure->cfg.instruction_count + 1,
					 sizeof(*procedure->instructions));
	procedure->blocks = calloc((size_t)blocks + 1, sizeof(*procedure->blocks));
	procedure->loop_costs = calloc((size_t)loops + 1, sizeof(*procedure->loop_costs));
	if (!executed || !procedure->instructions || !procedure->blocks || !procedure->loop_costs)
		return -ENOMEM;
	for (uint32_t b = 0; b < blocks; b++)
		cost_of_block(procedure, b, charged, mean_weight, &executed[b]);
	costs_of_loops(procedure, executed, executed + blocks, mean_weight);
	sum_of_whole(procedure, executed, mean_weight);

	bool in_order = procedure->pipeline->in_order;
	if (!in_order && cycles_find_bounds(procedure) < 0)
		return -ENOMEM;
	if (!charged || cycles_are_counted(procedure)) {
		procedure->cycle = 1;
		return 0;
	}
	bool relative = procedure_cycles_are_relative(procedure);
	procedure->cycle = in_order || !relative ? most_of_cycle_by_best_cases(procedure)
						 : cycles_most_of_cycle(procedure);
	scale_best(procedure->instructions, procedure->cfg.instruction_count, procedure->cycle);
	scale_best(procedure->blocks, blocks, procedure->cycle);
	scale_best(procedure->loop_costs, loops, procedure->cycle);
	scale_best(&procedure->whole, 1, procedure->cycle);
	return 0;
}
