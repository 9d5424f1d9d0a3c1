/*
 * flow_dominators - for each block the nearest other block that control cannot have
 * passed by on its way from outside: its immediate dominator.
 *
 * Ways begin at every edge from outside, also those into the middle, and at the entries
 * of the closure (flow_closure.h). A block that two of them lead to without a common block
 * has FLOW_OUTSIDE. In a graph with missing edges (flow_graph.missing_edges) there may be more
 * ways than are known, and so fewer dominators than are told here.
 *
 * Lengauer, Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (ACM TOPLAS 1979),
 * the simple version with paths compressed and not balanced, without recursion: O(E log n) on
 * any shape, where Cooper, Harvey and Kennedy's iteration is quadratic on some. 4 bytes a block
 * for the result, 28 while it is made.
 */
#pragma once

#include <stdint.h>

struct flow_graph;
struct flow_search;

struct flow_dominators {
	uint32_t *immediate; /* by block: a block, or FLOW_OUTSIDE */
};

/* `search` is the graph's. For flow_dominators_release(). 0, or -ENOMEM with nothing to release. */
int flow_dominators_find(const struct flow_graph *graph, const struct flow_search *search,
			 struct flow_dominators *dominators);
void flow_dominators_release(struct flow_dominators *dominators); /* also right for a zeroed one */
