#include "analyze/flow/flow_loose_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/array.h"

#define NONE UINT32_MAX

/* Of a block, and with the last number of what is outside. */
struct flow_loose_node {
	uint32_t number; /* in the order of visits, from 1; 0: not yet */
	uint32_t lowest; /* number of the earliest open node that is reached from here */
	uint32_t part;	 /* the node whose visit found it, NONE while open */
	size_t next;	 /* edge to follow next */
	/* as a part */
	uint32_t first, last; /* blocks */
	bool way_in, way_out;
};

struct search {
	const struct flow_graph *graph;
	struct flow_loose_node *nodes;
	uint32_t *path, *open;
	size_t path_count, open_count;
	uint32_t visits;
	size_t outside_start; /* the edges from outside are the last ones */
};

static uint32_t node_of(const struct flow_graph *graph, uint32_t block)
{
	return block == FLOW_OUTSIDE ? graph->block_count : block;
}

static bool next_edge(struct search *search, uint32_t node, uint32_t *to)
{
	const struct flow_graph *graph = search->graph;
	size_t at = search->nodes[node].next;
	size_t edge = search->outside_start + at;
	if (node < graph->block_count) {
		struct flow_ends out = flow_graph_out_of(graph, node);
		if (at == out.count)
			return false;
		edge = out.list[at];
	} else if (edge == graph->edge_count) {
		return false;
	}
	search->nodes[node].next++;
	*to = node_of(graph, graph->edges[edge].to);
	return true;
}

static void enter(struct search *search, uint32_t node)
{
	search->nodes[node].number = search->nodes[node].lowest = ++search->visits;
	search->path[search->path_count++] = node;
	search->open[search->open_count++] = node;
}

static void lower(struct flow_loose_node *node, uint32_t number)
{
	if (number < node->lowest)
		node->lowest = number;
}

/* All that is above it among the open nodes is one part with it. */
static void close_part(struct search *search, uint32_t root)
{
	struct flow_loose_node *part = &search->nodes[root];
	uint32_t node;
	part->first = NONE;
	part->last = 0;
	do {
		node = search->open[--search->open_count];
		search->nodes[node].part = root;
		if (node < part->first)
			part->first = node;
		if (node > part->last)
			part->last = node;
	} while (node != root);
}

static void visit(struct search *search, uint32_t root)
{
	enter(search, root);
	while (search->path_count) {
		uint32_t node = search->path[search->path_count - 1], to;
		if (next_edge(search, node, &to)) {
			if (search->nodes[to].number == 0)
				enter(search, to);
			else if (search->nodes[to].part == NONE)
				lower(&search->nodes[node], search->nodes[to].number);
			continue;
		}
		search->path_count--;
		if (search->nodes[node].lowest == search->nodes[node].number)
			close_part(search, node);
		if (search->path_count)
			lower(&search->nodes[search->path[search->path_count - 1]],
			      search->nodes[node].lowest);
	}
}

static int reserve(struct flow_loose_ends *ends, size_t node_count)
{
	if (node_count <= ends->node_capacity)
		return 0;
	free(ends->nodes);
	free(ends->path);
	free(ends->open);
	ends->node_capacity = 0;
	ends->nodes = malloc(node_count * sizeof(*ends->nodes));
	ends->path = malloc(node_count * sizeof(*ends->path));
	ends->open = malloc(node_count * sizeof(*ends->open));
	if (!ends->nodes || !ends->path || !ends->open)
		return -ENOMEM;
	ends->node_capacity = node_count;
	return 0;
}

static int add(struct flow_loose_ends *ends, uint32_t block, bool way_out)
{
	if (array_reserve(&ends->ends, &ends->capacity, ends->count, sizeof(*ends->ends)) < 0)
		return -ENOMEM;
	ends->ends[ends->count++] = (struct flow_loose_end){ block, way_out };
	return 0;
}

static int compare_ends(const void *left, const void *right)
{
	const struct flow_loose_end *a = left, *b = right;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return (a->way_out > b->way_out) - (a->way_out < b->way_out);
}

int flow_loose_ends_find(struct flow_loose_ends *ends, const struct flow_graph *graph)
{
	uint32_t outside = graph->block_count;
	ends->count = ends->lone_count = 0;
	if (reserve(ends, outside + (size_t)1) < 0)
		return -ENOMEM;
	ends->outside = outside;
	struct flow_loose_node *nodes = ends->nodes;
	for (uint32_t node = 0; node <= outside; node++)
		nodes[node] = (struct flow_loose_node){ .part = NONE };

	struct search search = { .graph = graph,
				 .nodes = nodes,
				 .path = ends->path,
				 .open = ends->open,
				 .outside_start = graph->edge_count };
	while (search.outside_start > 0 &&
	       graph->edges[search.outside_start - 1].from == FLOW_OUTSIDE)
		search.outside_start--;
	for (uint32_t node = 0; node <= outside; node++)
		if (nodes[node].number == 0)
			visit(&search, node);

	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = nodes[node_of(graph, graph->edges[i].from)].part;
		uint32_t to = nodes[node_of(graph, graph->edges[i].to)].part;
		nodes[from].way_out |= from != to;
		nodes[to].way_in |= from != to;
	}
	for (uint32_t node = 0; node <= outside; node++) {
		const struct flow_loose_node *part = &nodes[node];
		if (part->part != node || part->last == outside)
			continue;
		ends->lone_count += !part->way_in && !part->way_out;
		if (part->way_in == part->way_out)
			continue;
		int ret = add(ends, part->way_in ? part->last : part->first, part->way_in);
		if (ret < 0)
			return ret;
	}
	if (ends->count)
		qsort(ends->ends, ends->count, sizeof(*ends->ends), compare_ends);
	return 0;
}

uint32_t flow_loose_ends_lone_part(const struct flow_loose_ends *ends, uint32_t block)
{
	uint32_t number = ends->nodes[block].part;
	const struct flow_loose_node *part = &ends->nodes[number];
	return part->way_in || part->way_out || part->last == ends->outside ? FLOW_OUTSIDE : number;
}

void flow_loose_ends_release(struct flow_loose_ends *ends)
{
	free(ends->ends);
	free(ends->nodes);
	free(ends->path);
	free(ends->open);
	*ends = (struct flow_loose_ends){ 0 };
}
