/*
 * flow_search - a depth-first search from outside over all blocks of a closed graph
 * (flow_closure.h): the order and the tree that classes, loops and dominators rest on.
 *
 * Every block gets a number, from 1 on, as the search reaches it; outside is 0. The
 * search first enters where the procedure starts (FLOW_ENTRY), then at the other edges
 * from outside, then at the entries of the closure, in each of these and at each block
 * in the order of the blocks led to. So the order follows from the graph alone.
 *
 * Linear; 20 bytes a block, and 28 more while it runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/flow/flow_closure.h"
#include "analyze/flow/flow_graph.h"

#define FLOW_MADE_UP UINT32_MAX /* in place of an edge: an entry of the closure */

struct flow_search {
	struct flow_closure closure;
	uint32_t block_count;
	uint32_t *number; /* by block */
	/* By number, 0 (outside) to block_count: */
	uint32_t *block;  /* block[0] is FLOW_OUTSIDE */
	uint32_t *parent; /* the number it was reached from; less than its own; 0 for 0 */
	uint32_t *edge;	  /* the edge it was reached by, or FLOW_MADE_UP; not of 0 */
	uint32_t *last;	  /* the largest number below it in the tree, or its own */
};

/* Of a settled graph, for flow_search_release(). 0, or -ENOMEM with nothing to release. */
int flow_search_run(const struct flow_graph *graph, struct flow_search *search);
void flow_search_release(struct flow_search *search); /* also right for a zeroed one */

/* Of a block or FLOW_OUTSIDE. */
static inline uint32_t flow_search_number(const struct flow_search *search, uint32_t block)
{
	return block == FLOW_OUTSIDE ? 0 : search->number[block];
}

/* Whether number `below` is in the part of the tree that starts at `above`; both may be one. */
static inline bool flow_search_is_below(const struct flow_search *search, uint32_t below,
					uint32_t above)
{
	return above <= below && below <= search->last[above];
}
