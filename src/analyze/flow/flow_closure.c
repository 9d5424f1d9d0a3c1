#include "analyze/flow/flow_closure.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/cleanup.h"

#define NONE UINT32_MAX

/* Tarjan's search; all but the last by block. */
struct components {
	uint32_t *number; /* in the order of the search, from 1; 0: not reached yet */
	uint32_t *low;	  /* the smallest number that is known to be in the same set */
	uint32_t *cursor; /* edges out of it that were followed */
	uint32_t *set;	  /* NONE while it is open */
	uint32_t *path;	  /* the blocks that the search stands in */
	uint32_t *open;	  /* blocks whose set is not complete */
	uint32_t depth, open_count, numbered, set_count;
	uint32_t *memory;
};

static void components_release(struct components *components)
{
	free(components->memory);
}

static int components_init(struct components *components, uint32_t block_count)
{
	size_t count = block_count;
	uint32_t *memory = calloc(6 * count + 1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	*components = (struct components){ .number = memory,
					   .low = memory + count,
					   .cursor = memory + 2 * count,
					   .set = memory + 3 * count,
					   .path = memory + 4 * count,
					   .open = memory + 5 * count,
					   .memory = memory };
	return 0;
}

static void enter(struct components *components, uint32_t block)
{
	components->number[block] = components->low[block] = ++components->numbered;
	components->set[block] = NONE;
	components->path[components->depth++] = block;
	components->open[components->open_count++] = block;
}

static void lower(struct components *components, uint32_t block, uint32_t number)
{
	if (number < components->low[block])
		components->low[block] = number;
}

static void leave(struct components *components, uint32_t block)
{
	components->depth--;
	if (components->depth > 0)
		lower(components, components->path[components->depth - 1], components->low[block]);
	if (components->low[block] != components->number[block])
		return;
	uint32_t member;
	do {
		member = components->open[--components->open_count];
		components->set[member] = components->set_count;
	} while (member != block);
	components->set_count++;
}

static void search_from(const struct flow_graph *graph, struct components *components,
			uint32_t block)
{
	enter(components, block);
	while (components->depth > 0) {
		block = components->path[components->depth - 1];
		struct flow_ends out = flow_graph_out_of(graph, block);
		if (components->cursor[block] == out.count) {
			leave(components, block);
			continue;
		}
		uint32_t to = graph->edges[out.list[components->cursor[block]++]].to;
		if (to == FLOW_OUTSIDE)
			continue;
		if (!components->number[to])
			enter(components, to);
		else if (components->set[to] == NONE)
			lower(components, block, components->number[to]);
	}
}

/*
 * By set: a block of it, the last one given; NONE for sets that edges lead out of
 * (into, when `into`). Returns how many are not NONE.
 */
static size_t close_sets(const struct flow_graph *graph, const struct components *components,
			 bool into, uint32_t *block_of_set)
{
	for (uint32_t block = 0; block < graph->block_count; block++) {
		/* the first block is wanted for entries, the last one for exits */
		uint32_t given = into ? graph->block_count - 1 - block : block;
		block_of_set[components->set[given]] = given;
	}
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t here = into ? graph->edges[i].to : graph->edges[i].from;
		uint32_t there = into ? graph->edges[i].from : graph->edges[i].to;
		if (here != FLOW_OUTSIDE &&
		    (there == FLOW_OUTSIDE || components->set[here] != components->set[there]))
			block_of_set[components->set[here]] = NONE;
	}
	size_t count = 0;
	for (uint32_t set = 0; set < components->set_count; set++)
		count += block_of_set[set] != NONE;
	return count;
}

static int list_edges(const struct flow_graph *graph, struct components *components,
		      struct flow_closure *closure)
{
	/* no longer needed; there are no more sets than blocks */
	uint32_t *last = components->low, *first = components->number;
	closure->exit_count = close_sets(graph, components, false, last);
	closure->count = closure->exit_count + close_sets(graph, components, true, first);
	if (closure->count == 0)
		return 0;
	closure->edges = calloc(closure->count, sizeof(*closure->edges));
	if (!closure->edges)
		return -ENOMEM;
	struct flow_edge *exit = closure->edges, *entry = closure->edges + closure->exit_count;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		if (last[components->set[block]] == block)
			*exit++ = (struct flow_edge){ block, FLOW_OUTSIDE, FLOW_NO_RETURN };
		if (first[components->set[block]] == block)
			*entry++ = (struct flow_edge){ FLOW_OUTSIDE, block, FLOW_OTHER_ENTRY };
	}
	return 0;
}

int flow_closure_find(const struct flow_graph *graph, struct flow_closure *closure)
{
	CLEANUP(components_release) struct components components = { 0 };
	int ret = components_init(&components, graph->block_count);
	if (ret < 0)
		return ret;
	for (uint32_t block = 0; block < graph->block_count; block++)
		if (!components.number[block])
			search_from(graph, &components, block);
	*closure = (struct flow_closure){ 0 };
	return list_edges(graph, &components, closure);
}

void flow_closure_release(struct flow_closure *closure)
{
	free(closure->edges);
	*closure = (struct flow_closure){ 0 };
}
