/*
 * flow_loops - the loops of a procedure and how they nest.
 *
 * Which loops those are: the blocks of a strongly connected set (or one block that has
 * an edge to itself), as large as can be, are an outermost loop. Its header is the block
 * that the search from outside (flow_search.h) comes to first. Without the edges
 * that lead to the header from within, what is strongly connected in the rest are the
 * loops inside of it, and so on. The same said without recursion: the loop of h holds
 * the blocks below h in the search's tree that reach h without leaving that part of
 * the tree.
 *
 * In code without irreducible loops the header is the one way in, and the search's order
 * does not matter. A loop is irreducible when an edge leads from elsewhere, outside
 * included, to another of its blocks than the header (so a catch block inside a loop that is
 * known as a FLOW_LANDING makes it irreducible); there another order of the search
 * could find another header and other loops inside. In a graph with missing edges there may
 * be more and larger loops than are listed here.
 *
 * This is the forest of Havlak, "Nesting of Reducible and Irreducible Loops" (ACM TOPLAS
 * 1997), found as corrected by Ramalingam, "Identifying Loops in Almost Linear Time"
 * (ACM TOPLAS 1999): an edge that is neither in the search's tree nor back up it
 * waits at the lowest common ancestor of its ends, as no loop below holds both. Havlak's
 * own program is quadratic there. O(E log n) at worst, by a union-find that halves paths and
 * keeps no ranks; 4 bytes a block and 28 a loop, and 25 a block and 4 an edge more while they
 * are found.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/flow_search.h"

#define FLOW_NO_LOOP UINT32_MAX

struct flow_loop {
	uint32_t header;      /* block */
	uint32_t parent;      /* the loop around it, of a smaller number, or FLOW_NO_LOOP */
	uint32_t depth;	      /* 1: no loop around it */
	uint32_t block_count; /* with those of the loops inside */
	bool irreducible;
};

struct flow_loops {
	struct flow_loop *list; /* in the order in which the search reached their headers */
	uint32_t count;
	uint32_t *of_block; /* the innermost loop, or FLOW_NO_LOOP */
	/* By loop: its place in an order of all loops in which those inside of it follow at once,
	 * and how many these are. */
	uint32_t *place, *inside; /* one block of memory */
};

/* `search` is the graph's. For flow_loops_release(). 0, or -ENOMEM with nothing to release. */
int flow_loops_find(const struct flow_graph *graph, const struct flow_search *search,
		    struct flow_loops *loops);
void flow_loops_release(struct flow_loops *loops); /* also right for a zeroed one */

/* Whether the block is in the loop, or in one inside of it. */
bool flow_loops_hold(const struct flow_loops *loops, uint32_t loop, uint32_t block);
