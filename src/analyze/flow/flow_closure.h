/*
 * flow_closure - what a graph lacks for every block to lie on a way from outside to
 * outside. A loop that nothing leaves and a loop that nothing leads to are real
 * (an event loop, code that only an unknown jump reaches), but what flows through
 * them has nowhere to go or to come from. So
 *
 * - each strongly connected set of blocks that no edge leaves has an exit: a made-up
 *   edge to outside from its last block, where a loop's test would stand;
 * - each one that no edge enters has an entry: a made-up edge from outside to its
 *   first block.
 *
 * With them the graph, outside taken as one node, is strongly connected, and with fewer
 * edges from and to outside it would not be. The graph itself stays as it is.
 *
 * Sets by Tarjan, "Depth-First Search and Linear Graph Algorithms" (SIAM J. Comput.
 * 1972), without recursion. Linear; 24 bytes a block while it runs.
 */
#pragma once

#include <stddef.h>

struct flow_edge;
struct flow_graph;

struct flow_closure {
	/* Exits by their block (FLOW_NO_RETURN), then entries by theirs (FLOW_OTHER_ENTRY). */
	struct flow_edge *edges;
	size_t count, exit_count;
};

/* Of a settled graph, for flow_closure_release(). 0, or -ENOMEM with nothing to release. */
int flow_closure_find(const struct flow_graph *graph, struct flow_closure *closure);
void flow_closure_release(struct flow_closure *closure); /* also right for a zeroed one */
