/*
 * By how much an instruction's cycles exceed what it needs at best: its dynamic stall, or what
 * chance explains.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "analyze/figures/interval.h"
#include "base/array.h"
#include "base/cleanup.h"

/* Out of order: cycles of several instructions that are charged to one of them, as interrupts come
 * through behind some alone; up to 7.5 on Zen 4 (docs/methods.md, "Parts of an instruction's
 * cycles"). */
#define CHARGED_TOGETHER 16

/* The 95 % interval of an instruction's cycles, by its samples and its executions. Where it has no
 * samples, one is taken to be worth as many cycles as the procedure's are on average. */
static void interval_of(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
			double *low, double *high)
{
	const struct cycles_cost *sampled = cost->samples > 0 ? cost : &procedure->whole;
	if (!isnan(cost->low) && !isnan(cost->high) && !isnan(cost->executed)) {
		*low = cost->low * cost->executed;
		*high = cost->high * cost->executed;
		return;
	}
	double weight = sampled->samples > 0 ? sampled->cycles / sampled->samples : 0;
	*low = interval_count_low(cost->samples) * weight;
	*high = interval_count_high(cost->samples) * weight;
}

/* `best` is the instruction's best case, and out of order also that of those that retire with it.
 */
static void find_stall(const struct procedure_cycles *procedure, const struct cycles_cost *cost,
		       double best, struct stall *stall)
{
	double low, high;
	interval_of(procedure, cost, &low, &high);
	double beyond = cost->cycles - best;
	stall->dynamic_low = low - best;
	stall->dynamic_high = high - best;
	if (stall->dynamic_low > 0 || stall->dynamic_high < 0)
		stall->dynamic_cycles = beyond;
	else
		stall->noise_cycles = beyond;
	stall->most_cycles = fmax(0, stall->dynamic_cycles);
}

/*
 * Out of order several instructions retire in one cycle, and its samples are the first one's. So
 * the cycles that an instruction's charge falls short of its best case were charged to the one
 * before it. Returns this shortfall of the first one, with none behind the last to make up for.
 */
static double shortfall_of_first(const struct procedure_cycles *procedure, uint32_t first,
				 uint32_t count)
{
	double shortfall = 0;
	for (uint32_t i = first + count; i-- > first;) {
		const struct cycles_cost *cost = &procedure->instructions[i];
		shortfall = fmax(0, cost->best_cycles + shortfall - cost->cycles);
	}
	return shortfall;
}

/* The part of a block's executions that follow right after another of the same block. */
static double share_of_rounds(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, block);
	double whole = procedure->frequencies.blocks[block].value, rounds = 0;
	for (size_t i = 0; i < into.count; i++)
		if (graph->edges[into.list[i]].from == block)
			rounds += procedure->frequencies.edges[into.list[i]].value;
	return whole > 0 && rounds > 0 ? fmin(1, rounds / whole) : 0;
}

/*
 * Out of order: each instruction's best case includes the shortfall of the one behind it. In a
 * block that leads to itself the first instruction's own shortfall may have been charged to the
 * last one of the round before.
 */
static void find_stalls_of_groups(const struct procedure_cycles *procedure, uint32_t block,
				  struct stall *stalls)
{
	uint32_t first = procedure->cfg.blocks[block].first;
	uint32_t count = procedure->cfg.blocks[block].count;
	double around = 0;
	/* In ns a best case is no more than a limit, and would take all of a loop. */
	if (!cycles_events(procedure->cycles)->time_is_clock)
		around = shortfall_of_first(procedure, first, count) *
			 share_of_rounds(procedure, block);
	double shortfall = around;
	for (uint32_t i = first + count; i-- > first;) {
		const struct cycles_cost *cost = &procedure->instructions[i];
		double best = cost->best_cycles + shortfall;
		shortfall = fmax(0, best - cost->cycles);
		if (i == first)
			shortfall = fmin(shortfall, around);
		stalls[i].issue_cycles += best - shortfall - cost->best_cycles;
		find_stall(procedure, cost, best - shortfall, &stalls[i]);
	}
}

/* The upper end of the interval of executions, or the value where they have none. */
static double most_executions(const struct frequency *frequency)
{
	return isnan(frequency->high) ? frequency->value : fmax(frequency->high, frequency->value);
}

/*
 * Where figures are relative a cycle is at most procedure->cycle and may be any part of that. An
 * instruction that nothing holds up retires in a cycle, alone or with others, so whatever it is
 * charged beyond the longest cycle it may have waited. But interrupts do not come between any two
 * instructions: one is charged some cycles of its neighbours. So a wait is shown only by what its
 * whole loop took beyond issuing (`share` is the part of the loop's waits that this explains), or
 * by more cycles than are ever charged together (CHARGED_TOGETHER). Cycles that are not shown to be
 * a stall count as issuing, and so do those that chance may have added.
 */
static void find_stall_at_any_scale(const struct procedure_cycles *procedure,
				    const struct frequency *frequency,
				    const struct cycles_cost *cost, double share,
				    struct stall *stall)
{
	double cycle = most_executions(frequency) * procedure->cycle;
	double shown = fmax(share * (cost->cycles - fmax(cost->best_cycles, cycle)),
			    cost->cycles - CHARGED_TOGETHER * cycle);
	/* In order each instruction takes its own best case, however its neighbours are charged. */
	if (procedure->pipeline->in_order)
		shown = cost->cycles - cost->best_cycles;
	double within = cost->cycles - fmax(0, shown);
	find_stall(procedure, cost, within, stall);
	stall->dynamic_cycles = fmax(0, stall->dynamic_cycles);
	stall->issue_cycles = cost->cycles - stall->dynamic_cycles;
	stall->most_cycles = stall->dynamic_low + within > 0 ? cost->cycles : 0;
	stall->dynamic_low = fmax(0, stall->dynamic_low);
	stall->dynamic_high += within;
	stall->noise_cycles = 0;
}

/* Fills `waits`, by loop and behind them of the whole: the cycles that instructions were charged
 * beyond one cycle each time. */
static void add_waits(const struct procedure_cycles *procedure, double *waits)
{
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++) {
		const struct cfg_block *block = &procedure->cfg.blocks[b];
		double cycle =
			most_executions(&procedure->frequencies.blocks[b]) * procedure->cycle;
		uint32_t loop = procedure->loops.of_block[b];
		double *sum = &waits[loop == FLOW_NO_LOOP ? procedure->loops.count : loop];
		for (uint32_t i = block->first; i < block->first + block->count; i++) {
			const struct cycles_cost *cost = &procedure->instructions[i];
			double wait = cost->cycles - fmax(cost->best_cycles, cycle);
			*sum += wait > 0 ? wait : 0;
		}
	}
	/* Inner loops have larger numbers. */
	for (uint32_t l = procedure->loops.count; l-- > 0;) {
		uint32_t parent = procedure->loops.list[l].parent;
		waits[parent == FLOW_NO_LOOP ? procedure->loops.count : parent] += waits[l];
	}
}

/*
 * By loop, and behind them of the whole: the part of these waits that is shown, as the loop took so
 * many cycles beyond those that issuing takes at most. In order all 0, and not used. NULL: no
 * memory. The caller frees it.
 */
static double *shares_shown(const struct procedure_cycles *procedure)
{
	uint32_t loops = procedure->loops.count;
	double *shares = calloc((size_t)loops + 1, sizeof(*shares));
	if (!shares)
		return NULL;
	if (procedure->pipeline->in_order)
		return shares;
	add_waits(procedure, shares);
	for (uint32_t l = 0; l <= loops; l++) {
		const struct cycles_cost *cost =
			l < loops ? &procedure->loop_costs[l] : &procedure->whole;
		double issue = procedure->loop_bounds[l].issue_cycles * procedure->cycle;
		double shown = fmax(0, cost->cycles - issue);
		shares[l] = shares[l] > 0 ? fmin(1, shown / shares[l]) : 1;
	}
	return shares;
}

static void find_stalls_of_block(const struct procedure_cycles *procedure, uint32_t block,
				 const double *shares, struct culprits *culprits)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	if (isnan(culprits->stalls[at->first].issue_cycles) ||
	    isnan(procedure->instructions[at->first].cycles)) {
		for (uint32_t i = at->first; i < at->first + at->count; i++) {
			struct stall *stall = &culprits->stalls[i];
			stall->issue_cycles = stall->static_cycles = stall->dynamic_cycles = NAN;
			stall->noise_cycles = stall->unexplained_cycles = NAN;
			stall->static_cause = STATIC_NONE;
		}
		return;
	}
	culprits->known = true;
	if (procedure_cycles_are_relative(procedure)) {
		const struct frequency *frequency = &procedure->frequencies.blocks[block];
		uint32_t loop = procedure->loops.of_block[block];
		double share = shares[loop == FLOW_NO_LOOP ? procedure->loops.count : loop];
		for (uint32_t i = at->first; i < at->first + at->count; i++)
			find_stall_at_any_scale(procedure, frequency, &procedure->instructions[i],
						share, &culprits->stalls[i]);
		return;
	}
	if (!procedure->pipeline->in_order) {
		find_stalls_of_groups(procedure, block, culprits->stalls);
		return;
	}
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		find_stall(procedure, &procedure->instructions[i],
			   culprits->stalls[i].issue_cycles + culprits->stalls[i].static_cycles,
			   &culprits->stalls[i]);
}

int culprit_find_stalls(struct culprits *culprits)
{
	const struct procedure_cycles *procedure = culprits->procedure;
	CLEANUP(free_pointer) double *shares = shares_shown(procedure);
	if (!shares)
		return -ENOMEM;
	for (uint32_t b = 0; b < procedure->cfg.graph.block_count; b++)
		find_stalls_of_block(procedure, b, shares, culprits);
	return 0;
}
