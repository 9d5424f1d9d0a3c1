#include "analyze/flow/flow_graph.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void flow_graph_init(struct flow_graph *graph, uint32_t block_count)
{
	*graph = (struct flow_graph){ .block_count = block_count };
}

void flow_graph_release(struct flow_graph *graph)
{
	free(graph->edges);
	free(graph->into_list);
	free(graph->into_start);
	free(graph->out_list);
	free(graph->out_start);
	*graph = (struct flow_graph){ 0 };
}

int flow_graph_add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	assert(from < graph->block_count || from == FLOW_OUTSIDE);
	assert(to < graph->block_count || to == FLOW_OUTSIDE);
	assert(from != FLOW_OUTSIDE || to != FLOW_OUTSIDE);
	if (array_reserve(&graph->edges, &graph->edge_capacity, graph->edge_count,
			  sizeof(*graph->edges)) < 0)
		return -ENOMEM;
	graph->edges[graph->edge_count++] = (struct flow_edge){ from, to, kind };
	return 0;
}

static int compare_edges(const void *left, const void *right)
{
	const struct flow_edge *a = left, *b = right;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static void order(struct flow_graph *graph)
{
	size_t kept = 0;
	if (graph->edge_count)
		qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), compare_edges);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		if (kept == 0 || graph->edges[kept - 1].from != edge->from ||
		    graph->edges[kept - 1].to != edge->to)
			graph->edges[kept++] = *edge;
	}
	graph->edge_count = kept;
}

/* Edges that must be there: into every block and out of it. */
static int close_ends(struct flow_graph *graph)
{
	bool *reached = calloc(graph->block_count + (size_t)1, 2 * sizeof(*reached));
	if (!reached)
		return -ENOMEM;
	bool *left = reached + graph->block_count;
	for (size_t i = 0; i < graph->edge_count; i++) {
		if (graph->edges[i].to != FLOW_OUTSIDE)
			reached[graph->edges[i].to] = true;
		if (graph->edges[i].from != FLOW_OUTSIDE)
			left[graph->edges[i].from] = true;
	}
	int ret = 0;
	for (uint32_t block = 0; block < graph->block_count && ret == 0; block++) {
		if (!reached[block])
			ret = flow_graph_add(graph, FLOW_OUTSIDE, block, FLOW_OTHER_ENTRY);
		if (ret == 0 && !left[block])
			ret = flow_graph_add(graph, block, FLOW_OUTSIDE, FLOW_NO_RETURN);
	}
	free(reached);
	return ret;
}

/* Lists the edges by the block at one end. */
static int list_by(const struct flow_graph *graph, bool into, uint32_t **list, uint32_t **start)
{
	*list = calloc(graph->edge_count + 1, sizeof(**list));
	*start = calloc(graph->block_count + (size_t)2, sizeof(**start));
	if (!*list || !*start)
		return -ENOMEM;
	/* counted two places on: filling then moves each start to where it belongs */
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t block = into ? graph->edges[i].to : graph->edges[i].from;
		if (block != FLOW_OUTSIDE)
			(*start)[block + 2]++;
	}
	for (size_t block = 2; block < graph->block_count + (size_t)2; block++)
		(*start)[block] += (*start)[block - 1];
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t block = into ? graph->edges[i].to : graph->edges[i].from;
		if (block != FLOW_OUTSIDE)
			(*list)[(*start)[block + 1]++] = (uint32_t)i;
	}
	return 0;
}

int flow_graph_settle(struct flow_graph *graph)
{
	int ret = close_ends(graph);
	if (ret < 0)
		return ret;
	order(graph);
	assert(graph->edge_count < UINT32_MAX);
	ret = list_by(graph, true, &graph->into_list, &graph->into_start);
	return ret < 0 ? ret : list_by(graph, false, &graph->out_list, &graph->out_start);
}

struct flow_ends flow_graph_into(const struct flow_graph *graph, uint32_t block)
{
	assert(block < graph->block_count);
	uint32_t start = graph->into_start[block];
	return (struct flow_ends){ graph->into_list + start, graph->into_start[block + 1] - start };
}

struct flow_ends flow_graph_out_of(const struct flow_graph *graph, uint32_t block)
{
	assert(block < graph->block_count);
	uint32_t start = graph->out_start[block];
	return (struct flow_ends){ graph->out_list + start, graph->out_start[block + 1] - start };
}
