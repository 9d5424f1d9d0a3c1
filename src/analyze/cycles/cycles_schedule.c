/*
 * What each instruction does and when it would issue. A block is scheduled behind the
 * one that most likely ran before it, since what that left under way delays the first
 * instructions: in a loop the block that leads back (docs/methods.md, "Cycles").
 */
#include <errno.h>
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

/*
 * The edge by which a block is most likely entered: the one from the deepest loop, of these the
 * one from furthest behind (which leads back). NULL: it may be entered from outside alone.
 */
static const struct flow_edge *likely_entry(const struct procedure_cycles *procedure,
					    uint32_t block)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends into = flow_graph_into(graph, block);
	const struct flow_edge *best = NULL;
	uint32_t best_depth = 0;
	for (size_t i = 0; i < into.count; i++) {
		const struct flow_edge *edge = &graph->edges[into.list[i]];
		if (edge->from == FLOW_OUTSIDE)
			continue;
		uint32_t depth = depth_of(procedure, edge->from);
		if (best &&
		    (depth < best_depth || (depth == best_depth && edge->from < best->from)))
			continue;
		best = edge;
		best_depth = depth;
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

/* Each block by itself, then each behind the state that the one before it leaves. */
static int schedule_in_order(struct procedure_cycles *procedure)
{
	uint32_t count = procedure->cfg.graph.block_count;
	CLEANUP(free_pointer)
	struct schedule_state *states = calloc((size_t)count + 1, sizeof(*states));
	if (!states)
		return -ENOMEM;
	for (uint32_t b = 0; b < count; b++)
		schedule_one(procedure, b, NULL, &states[b]);
	for (uint32_t b = 0; b < count; b++) {
		const struct flow_edge *edge = likely_entry(procedure, b);
		if (!edge)
			continue;
		struct schedule_state entry = states[edge->from];
		entry.group_ended |= edge->kind != FLOW_NEXT;
		schedule_one(procedure, b, &entry, NULL);
	}
	return 0;
}

int cycles_schedule_blocks(struct procedure_cycles *procedure)
{
	uint32_t blocks = procedure->cfg.graph.block_count;
	procedure->schedule =
		calloc((size_t)procedure->cfg.instruction_count + 1, sizeof(*procedure->schedule));
	procedure->bounds = calloc((size_t)blocks + 1, sizeof(*procedure->bounds));
	if (!procedure->schedule || !procedure->bounds)
		return -ENOMEM;
	if (procedure->pipeline->in_order)
		return schedule_in_order(procedure);
	for (uint32_t b = 0; b < blocks; b++)
		schedule_one(procedure, b, NULL, NULL);
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
