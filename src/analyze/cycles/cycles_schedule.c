/*
 * What each instruction does and when it would issue. Executions are estimated from blocks
 * scheduled by themselves. After that a block in order is scheduled behind the one that most
 * often ran before it, since what that left under way delays the first instructions
 * (docs/methods.md, "CPI").
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_private.h"
#include "base/cleanup.h"

static void find_effects(struct procedure_cycles *procedure, struct decoder *decoder)
{
	const struct cfg *cfg = &procedure->cfg;
	for (uint32_t p = 0; p < cfg->part_count; p++) {
		const struct cfg_part *part = &cfg->parts[p];
		for (uint32_t i = 0; i < part->instruction_count; i++) {
			const struct cfg_instruction *at =
				&cfg->instructions[part->first_instruction + i];
			struct span code = { (const char *)part->bytes.data +
						     (at->vaddr - part->first),
					     at->length_bytes };
			struct instruction decoded;
			decoder_effects(decoder, code, at->vaddr, &decoded,
					&procedure->effects[part->first_instruction + i]);
		}
	}
}

static uint32_t depth_of(const struct procedure_cycles *procedure, uint32_t block)
{
	uint32_t loop = procedure->loops.of_block[block];
	return loop == FLOW_NO_LOOP ? 0 : procedure->loops.list[loop].depth;
}

/* Of two equally frequent edges: the one from the deeper loop, else from the higher address. */
static bool is_likelier(const struct procedure_cycles *procedure, uint32_t from, uint32_t than)
{
	uint32_t depth = depth_of(procedure, from), other = depth_of(procedure, than);
	return depth > other || (depth == other && from >= than);
}

/* The edge by which a block is mostly entered; NULL: from outside, or that is not known. */
static const struct flow_edge *usual_entry(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, block);
	const struct flow_edge *best = NULL;
	double most = 0;
	for (size_t i = 0; i < into.count; i++) {
		const struct flow_edge *edge = &graph->edges[into.list[i]];
		double executions = procedure->frequencies.edges[into.list[i]].value;
		if (isnan(executions))
			executions = 0;
		if (executions < most ||
		    (executions == most &&
		     (edge->from == FLOW_OUTSIDE ||
		      (best && !is_likelier(procedure, edge->from, best->from)))))
			continue;
		best = edge->from == FLOW_OUTSIDE ? NULL : edge;
		most = executions;
	}
	return best;
}

static void schedule_one(struct procedure_cycles *procedure, uint32_t block,
			 const struct schedule_state *entry, struct schedule_state *exit)
{
	const struct cfg_block *at = &procedure->cfg.blocks[block];
	schedule_block(procedure->pipeline, procedure->effects + at->first, at->count, entry,
		       procedure->schedule + at->first, &procedure->bounds[block], exit);
}

int cycles_schedule_blocks(struct procedure_cycles *procedure)
{
	uint32_t blocks = procedure->cfg.graph.block_count;
	procedure->schedule =
		calloc((size_t)procedure->cfg.instruction_count + 1, sizeof(*procedure->schedule));
	procedure->bounds = calloc((size_t)blocks + 1, sizeof(*procedure->bounds));
	if (!procedure->schedule || !procedure->bounds)
		return -ENOMEM;
	for (uint32_t b = 0; b < blocks; b++)
		schedule_one(procedure, b, NULL, NULL);
	return 0;
}

int cycles_schedule_entries(struct procedure_cycles *procedure)
{
	uint32_t count = procedure->cfg.graph.block_count;
	if (!procedure->pipeline->in_order)
		return 0;
	CLEANUP(free_pointer)
	struct schedule_state *states = calloc((size_t)count + 1, sizeof(*states));
	if (!states)
		return -ENOMEM;
	for (uint32_t b = 0; b < count; b++)
		schedule_one(procedure, b, NULL, &states[b]);
	for (uint32_t b = 0; b < count; b++) {
		const struct flow_edge *edge = usual_entry(procedure, b);
		if (!edge)
			continue;
		struct schedule_state entry = states[edge->from];
		entry.group_ended |= edge->kind != FLOW_NEXT;
		schedule_one(procedure, b, &entry, NULL);
	}
	return 0;
}

int cycles_schedule(struct procedure_cycles *procedure, struct decoder *decoder)
{
	procedure->effects =
		calloc((size_t)procedure->cfg.instruction_count + 1, sizeof(*procedure->effects));
	if (!procedure->effects)
		return -ENOMEM;
	find_effects(procedure, decoder);
	return cycles_schedule_blocks(procedure);
}
