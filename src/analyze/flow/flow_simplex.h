/*
 * flow_simplex - a cheapest flow of whole numbers: arcs with a price >= 0 each and
 * no limit, nodes that give or take what the flow at the start says. Network simplex
 * method on a strongly feasible tree (Cunningham, "A network simplex method", Math.
 * Programming 11, 1976), which never cycles, with block search for the arc that
 * enters (Grigoriadis, Math. Programming Study 26, 1986).
 *
 * Only the arcs of the tree carry flow. All is exact in 64 bits. A pivot costs the
 * length of the circle it closes and the nodes that it moves to another place in
 * the tree; memory is 48 bytes a node and 16 an arc, nothing recurses.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIMPLEX_ROOT   0u
#define SIMPLEX_NO_ARC UINT32_MAX

struct simplex_arc {
	uint32_t from, to;
	int64_t price; /* >= 0, not above simplex_price_limit() */
};

/* The arc between a node and its parent in the tree. */
struct simplex_join {
	uint32_t parent;
	uint32_t arc; /* SIMPLEX_NO_ARC: to the root, never carries flow */
	bool up;      /* it goes from the node to the parent */
	int64_t flow; /* >= 0 */
};

struct simplex {
	uint32_t node_count;		/* node 0 is the tree's root, SIMPLEX_ROOT */
	const struct simplex_arc *arcs; /* borrowed */
	size_t arc_count;
	/*
	 * By node, the root's is not read: where it hangs. At the start a tree by the
	 * caller in which each arc without flow goes up; afterwards that of a
	 * cheapest flow, or a cheaper one when the limit was met.
	 */
	struct simplex_join *joins;
	uint64_t step_limit; /* no pivot begins beyond it; a step is an arc priced or a node passed
			      */

	uint64_t steps; /* taken */
	size_t pivots;	/* an arc that enters the tree, and one that leaves */
	bool cheapest;	/* false: the limit was met; the flow is one, but not the cheapest */
};

/* The largest price that cannot overflow among that many nodes: a fifth of 2^63 / (nodes + 1). */
int64_t simplex_price_limit(uint32_t node_count);
/* Replaces the flow by a cheapest one with the same giving and taking. 0 or -ENOMEM. */
int simplex_solve(struct simplex *simplex);
