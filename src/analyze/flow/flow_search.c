#include "analyze/flow/flow_search.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

static uint32_t number_block(struct flow_search *search, uint32_t *reached, uint32_t block,
			     uint32_t parent, uint32_t edge)
{
	uint32_t number = ++*reached;
	search->number[block] = number;
	search->block[number] = block;
	search->parent[number] = parent;
	search->edge[number] = edge;
	return number;
}

/* Numbers `block` and all that can be reached from it; `cursor`: edges followed, by number. */
static void descend(const struct flow_graph *graph, struct flow_search *search, uint32_t *reached,
		    uint32_t *cursor, uint32_t block, uint32_t edge)
{
	if (search->number[block])
		return;
	uint32_t current = number_block(search, reached, block, 0, edge);
	while (current != 0) {
		struct flow_ends out = flow_graph_out_of(graph, search->block[current]);
		if (cursor[current] == out.count) {
			search->last[current] = *reached;
			current = search->parent[current];
			continue;
		}
		edge = out.list[cursor[current]++];
		uint32_t to = graph->edges[edge].to;
		if (to != FLOW_OUTSIDE && !search->number[to])
			current = number_block(search, reached, to, current, edge);
	}
}

static void search_all(const struct flow_graph *graph, struct flow_search *search, uint32_t *cursor)
{
	uint32_t reached = 0;
	size_t first = graph->edge_count; /* edges from outside are the last ones */
	while (first > 0 && graph->edges[first - 1].from == FLOW_OUTSIDE)
		first--;
	for (size_t i = first; i < graph->edge_count; i++)
		if (graph->edges[i].kind == FLOW_ENTRY)
			descend(graph, search, &reached, cursor, graph->edges[i].to, (uint32_t)i);
	for (size_t i = first; i < graph->edge_count; i++)
		descend(graph, search, &reached, cursor, graph->edges[i].to, (uint32_t)i);
	for (size_t i = search->closure.exit_count; i < search->closure.count; i++)
		descend(graph, search, &reached, cursor, search->closure.edges[i].to, FLOW_MADE_UP);
	assert(reached ==
	       search->block_count); /* by flow_closure_find(), every block can be reached */
	search->last[0] = reached;
}

int flow_search_run(const struct flow_graph *graph, struct flow_search *search)
{
	size_t count = graph->block_count, numbers = count + 1;
	*search = (struct flow_search){ .block_count = graph->block_count };
	CLEANUP(free_pointer) uint32_t *cursor = calloc(numbers, sizeof(*cursor));
	search->number = calloc(count + 4 * numbers, sizeof(*search->number));
	if (!cursor || !search->number || flow_closure_find(graph, &search->closure) < 0) {
		flow_search_release(search);
		return -ENOMEM;
	}
	search->block = search->number + count;
	search->parent = search->block + numbers;
	search->edge = search->parent + numbers;
	search->last = search->edge + numbers;
	search->block[0] = FLOW_OUTSIDE;
	search->edge[0] = FLOW_MADE_UP;
	search_all(graph, search, cursor);
	return 0;
}

void flow_search_release(struct flow_search *search)
{
	flow_closure_release(&search->closure);
	free(search->number);
	*search = (struct flow_search){ 0 };
}
