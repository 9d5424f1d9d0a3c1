#include "analyze/cycles/cfg_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "isa/decode.h"

void cfg_view_release(struct cfg_view *view)
{
	free(view->blocks);
	free(view->position);
	free(view->texts);
	arena_release(&view->arena);
	*view = (struct cfg_view){ 0 };
}

/* ---- which blocks */

struct candidate {
	uint32_t block;
	double weight;
};

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->block > b->block) - (a->block < b->block);
}

static double known_or_0(double value)
{
	return value > 0 ? value : 0;
}

/* By this blocks are chosen: their cycles, or where none are known their executions. */
static double heat(const struct procedure_cycles *procedure, uint32_t block)
{
	return procedure->whole.cycles > 0 ? known_or_0(procedure->blocks[block].cycles)
					   : known_or_0(procedure->frequencies.blocks[block].value);
}

/* Marks the best candidates that are not shown yet, until `limit` blocks are. `shown` by block: 0
 * or 1. */
static void take_best(struct candidate *list, size_t count, size_t limit, uint8_t *shown,
		      size_t *taken)
{
	qsort(list, count, sizeof(*list), compare_candidates);
	for (size_t i = 0; i < count && *taken < limit; i++) {
		if (shown[list[i].block])
			continue;
		shown[list[i].block] = 1;
		(*taken)++;
	}
}

/* Two thirds are the hottest blocks; the rest are those that edges join to them. */
static int choose_blocks(const struct procedure_cycles *procedure, size_t limit, uint8_t *shown)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	size_t room = graph->block_count > 2 * graph->edge_count ? graph->block_count
								 : 2 * graph->edge_count;
	CLEANUP(free_pointer) struct candidate *list = calloc(room + 1, sizeof(*list));
	size_t count = 0, taken = 1;
	if (!list)
		return -ENOMEM;
	shown[procedure->cfg.entry] = 1;
	for (uint32_t b = 0; b < graph->block_count; b++)
		if (heat(procedure, b) > 0)
			list[count++] = (struct candidate){ b, heat(procedure, b) };
	take_best(list, count, limit - limit / 3, shown, &taken);
	count = 0;
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		double weight = known_or_0(procedure->frequencies.edges[e].value);
		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE ||
		    shown[edge->from] == shown[edge->to])
			continue;
		list[count++] =
			(struct candidate){ shown[edge->from] ? edge->to : edge->from, weight };
	}
	take_best(list, count, limit, shown, &taken);
	return 0;
}

static bool is_padding(const struct procedure_cycles *procedure, uint32_t block)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	const struct cfg_block *extent = &procedure->cfg.blocks[block];
	struct flow_ends into = flow_graph_into(graph, block);
	for (uint32_t i = extent->first; i < extent->first + extent->count; i++)
		if (!procedure->cfg.instructions[i].pads)
			return false;
	for (size_t i = 0; i < into.count; i++)
		if (graph->edges[into.list[i]].from != FLOW_OUTSIDE)
			return false;
	return !(procedure->blocks[block].samples > 0) && block != procedure->cfg.entry;
}

static void leave_out_padding(struct cfg_view *view, uint8_t *shown)
{
	for (uint32_t b = 0; b < view->procedure->cfg.graph.block_count; b++) {
		if (!is_padding(view->procedure, b))
			continue;
		shown[b] = 0;
		view->padding++;
	}
}

static int number_blocks(struct cfg_view *view, const uint8_t *shown)
{
	const struct cfg *cfg = &view->procedure->cfg;
	double whole = 0, hidden = 0;
	view->blocks = calloc((size_t)cfg->graph.block_count + 1, sizeof(*view->blocks));
	view->position = calloc((size_t)cfg->graph.block_count + 1, sizeof(*view->position));
	if (!view->blocks || !view->position)
		return -ENOMEM;
	if (shown[cfg->entry])
		view->blocks[view->count++] = cfg->entry;
	for (uint32_t b = 0; b < cfg->graph.block_count; b++) {
		whole += known_or_0(view->procedure->blocks[b].cycles);
		hidden += shown[b] ? 0 : known_or_0(view->procedure->blocks[b].cycles);
		if (shown[b] && b != cfg->entry)
			view->blocks[view->count++] = b;
		view->position[b] = CFG_NO_BLOCK;
	}
	for (uint32_t i = 0; i < view->count; i++)
		view->position[view->blocks[i]] = i;
	view->hidden_share = whole > 0 ? hidden / whole : NAN;
	return 0;
}

/* ---- texts */

/* Where a jump or call goes: a name, or an offset in this procedure. */
static const char *target_text(struct cfg_view *view, struct resolver *resolver,
			       const struct instruction *instruction)
{
	const struct cfg *cfg = &view->procedure->cfg;
	uint64_t target = instruction->target;
	if (cfg_block_at(cfg, target) != CFG_NO_BLOCK)
		return target >= cfg->first
			       ? arena_printf(&view->arena, "+0x%" PRIx64, target - cfg->first)
			       : arena_printf(&view->arena, "-0x%" PRIx64, cfg->first - target);
	uint32_t image = view->procedure->procedure->procedure->image;
	const struct place *place = resolver_place_in_file(resolver, image, target);
	if (!place)
		return NULL;
	if (place->procedure->named)
		return place->procedure->name;
	const char *callee = resolver_callee(resolver, image, target);
	return callee ? callee : instruction->operands;
}

static struct span code_at(const struct cfg *cfg, const struct cfg_instruction *instruction)
{
	for (uint32_t p = 0; p < cfg->part_count; p++) {
		const struct cfg_part *part = &cfg->parts[p];
		uint64_t offset = instruction->vaddr - part->first;
		if (instruction->vaddr >= part->first && instruction->vaddr <= part->last &&
		    offset < part->bytes.size)
			return (struct span){ (const char *)part->bytes.data + offset,
					      part->bytes.size - offset };
	}
	return (struct span){ NULL, 0 };
}

static int write_text(struct cfg_view *view, struct resolver *resolver, struct decoder *decoder,
		      uint32_t number)
{
	const struct cfg_instruction *at = &view->procedure->cfg.instructions[number];
	struct span code = code_at(&view->procedure->cfg, at);
	struct instruction instruction;
	if (!code.size) {
		view->texts[number] = "?";
		return 0;
	}
	decoder_decode(decoder, code, at->vaddr, &instruction);
	const char *operands = instruction.has_target && !at->through_slot
				       ? target_text(view, resolver, &instruction)
				       : instruction.operands;
	if (!operands)
		return -ENOMEM;
	/* operands before the target stay: "cbz x0, +0x40" */
	const char *before = strrchr(instruction.operands, ',');
	bool keeps = before && operands != instruction.operands;
	view->texts[number] = arena_printf(&view->arena, "%s%s%.*s%s%s", instruction.mnemonic,
					   operands[0] ? " " : "",
					   keeps ? (int)(before - instruction.operands) : 0,
					   instruction.operands, keeps ? ", " : "", operands);
	return view->texts[number] ? 0 : -ENOMEM;
}

static int write_texts(struct cfg_view *view, struct resolver *resolver, struct decoder *decoder)
{
	const struct cfg *cfg = &view->procedure->cfg;
	view->texts = calloc((size_t)cfg->instruction_count + 1, sizeof(*view->texts));
	int ret = view->texts ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < view->count; i++) {
		const struct cfg_block *block = &cfg->blocks[view->blocks[i]];
		for (uint32_t n = 0; ret == 0 && n < block->count; n++)
			ret = write_text(view, resolver, decoder, block->first + n);
	}
	return ret;
}

int cfg_view_init(struct cfg_view *view, const struct procedure_cycles *procedure,
		  struct resolver *resolver, enum isa_syntax syntax, size_t limit,
		  struct error *err)
{
	const struct cfg *cfg = &procedure->cfg;
	CLEANUP(decoder_freep) struct decoder *decoder = NULL;
	CLEANUP(free_pointer)
	uint8_t *shown = calloc((size_t)cfg->graph.block_count + 1, sizeof(*shown));
	*view = (struct cfg_view){ .procedure = procedure };
	if (!shown)
		return error_set(err, -ENOMEM, "out of memory for the graph");
	int ret = decoder_new(procedure->isa, syntax, &decoder, err);
	if (ret < 0)
		return ret;
	if (!limit || cfg->graph.block_count <= limit)
		memset(shown, 1, cfg->graph.block_count);
	else
		ret = choose_blocks(procedure, limit, shown);
	leave_out_padding(view, shown);
	if (ret == 0)
		ret = number_blocks(view, shown);
	if (ret == 0)
		ret = write_texts(view, resolver, decoder);
	if (ret < 0) {
		cfg_view_release(view);
		return error_set(err, ret, "out of memory for the graph");
	}
	return 0;
}

/* ---- about edges */

uint32_t cfg_view_hidden_edges(const struct cfg_view *view, uint32_t block)
{
	const struct flow_graph *graph = &view->procedure->cfg.graph;
	const struct flow_ends ends[] = { flow_graph_into(graph, block),
					  flow_graph_out_of(graph, block) };
	uint32_t count = 0;
	for (size_t d = 0; d < 2; d++)
		for (size_t i = 0; i < ends[d].count; i++) {
			const struct flow_edge *edge = &graph->edges[ends[d].list[i]];
			uint32_t other = d == 0 ? edge->from : edge->to;
			count += other != FLOW_OUTSIDE && view->position[other] == CFG_NO_BLOCK;
		}
	return count;
}

bool cfg_view_is_back(const struct procedure_cycles *procedure, const struct flow_edge *edge)
{
	const struct flow_loops *loops = &procedure->loops;
	if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE)
		return false;
	uint32_t loop = loops->of_block[edge->to];
	return loop != FLOW_NO_LOOP && loops->list[loop].header == edge->to &&
	       flow_loops_hold(loops, loop, edge->from);
}

struct estimate cfg_view_rounds(const struct procedure_cycles *procedure, uint32_t loop)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	uint32_t header = procedure->loops.list[loop].header;
	const struct frequency *ran = &procedure->frequencies.blocks[header];
	struct flow_ends into = flow_graph_into(graph, header);
	struct frequency entered = { 0 };
	for (size_t i = 0; i < into.count; i++) {
		const struct frequency *edge = &procedure->frequencies.edges[into.list[i]];
		if (cfg_view_is_back(procedure, &graph->edges[into.list[i]]))
			continue;
		entered.value += edge->value;
		entered.low += edge->low;
		entered.high += edge->high;
	}
	double rounds = ran->value / entered.value;
	if (!(entered.value > 0) || !isfinite(rounds))
		return (struct estimate){ .kind = ESTIMATE_ABSENT };
	/* it goes around at least once each time that it is entered */
	double low = fmax(ran->low / entered.high, 1), high = ran->high / entered.low;
	if (isnan(low) || isnan(high))
		return (struct estimate){ ESTIMATE_VALUE, rounds, rounds, rounds };
	return (struct estimate){ ESTIMATE_INTERVAL, fmax(rounds, 1), low, high };
}
