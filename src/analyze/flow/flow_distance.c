#include "analyze/flow/flow_distance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "base/cleanup.h"

/* Variance of the logarithm of the flow into a block along its other edges. */
#define OTHER_WAYS 0.3

double flow_distance_of_edge(double edge, double from_executions, double to_executions, double seen)
{
	if (!(edge > 0) || !(from_executions > 0) || !(to_executions > 0))
		return INFINITY;
	double out = fmin(1, edge / from_executions), others = 1 - fmin(1, edge / to_executions);
	return (1 - out) / (out * (1 + seen)) + OTHER_WAYS * others * others;
}

/* A block, and its distance over one path. */
struct reached {
	double distance;
	uint32_t block;
};

/* The nearest is first (a binary heap); room for all that is ever added. */
struct heap {
	struct reached *list;
	size_t count;
};

static void add(struct heap *heap, struct reached one)
{
	size_t at = heap->count++;
	while (at > 0 && heap->list[(at - 1) / 2].distance > one.distance) {
		heap->list[at] = heap->list[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->list[at] = one;
}

static struct reached take_nearest(struct heap *heap)
{
	struct reached nearest = heap->list[0], last = heap->list[--heap->count];
	size_t at = 0;
	for (;;) {
		size_t next = 2 * at + 1;
		if (next + 1 < heap->count &&
		    heap->list[next + 1].distance < heap->list[next].distance)
			next++;
		if (next >= heap->count || heap->list[next].distance >= last.distance)
			break;
		heap->list[at] = heap->list[next];
		at = next;
	}
	heap->list[at] = last;
	return nearest;
}

struct distance_work {
	const struct flow_graph *graph;
	const double *blocks, *edges;
	double *seen; /* by block: of its ways out; INFINITY where it has one */
	double *distances;
	struct heap heap;
};

static void reach(struct distance_work *work, struct flow_ends ends, struct reached at)
{
	for (size_t i = 0; i < ends.count; i++) {
		const struct flow_edge *edge = &work->graph->edges[ends.list[i]];
		uint32_t other = edge->from == at.block ? edge->to : edge->from;
		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE)
			continue;
		double distance = at.distance + flow_distance_of_edge(work->edges[ends.list[i]],
								      work->blocks[edge->from],
								      work->blocks[edge->to],
								      work->seen[edge->from]);
		if (!(distance < work->distances[other]))
			continue;
		work->distances[other] = distance;
		add(&work->heap, (struct reached){ distance, other });
	}
}

static void count_seen(const struct distance_work *work, const double *evidence)
{
	for (uint32_t block = 0; block < work->graph->block_count; block++) {
		struct flow_ends out = flow_graph_out_of(work->graph, block);
		work->seen[block] = out.count < 2 ? INFINITY : 0;
		for (size_t i = 0; evidence && i < out.count; i++)
			work->seen[block] += evidence[out.list[i]];
	}
}

int flow_distance_find(const struct flow_graph *graph, const double *block_executions,
		       const double *edge_executions, const double *evidence, uint32_t from,
		       double *distances)
{
	/* each edge is looked at from both of its ends */
	CLEANUP(free_pointer)
	struct reached *list = calloc(2 * graph->edge_count + 2, sizeof(*list));
	CLEANUP(free_pointer) double *seen = calloc((size_t)graph->block_count + 1, sizeof(*seen));
	if (!list || !seen)
		return -ENOMEM;
	struct distance_work work = { .graph = graph,
				      .blocks = block_executions,
				      .edges = edge_executions,
				      .seen = seen,
				      .distances = distances,
				      .heap = { list, 0 } };
	count_seen(&work, evidence);
	for (uint32_t block = 0; block < graph->block_count; block++)
		distances[block] = INFINITY;
	distances[from] = 0;
	add(&work.heap, (struct reached){ 0, from });
	while (work.heap.count) {
		struct reached at = take_nearest(&work.heap);
		if (at.distance > distances[at.block])
			continue; /* a shorter path was found since */
		reach(&work, flow_graph_out_of(graph, at.block), at);
		reach(&work, flow_graph_into(graph, at.block), at);
	}
	return 0;
}
