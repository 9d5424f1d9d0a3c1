/*
 * flow_loose_ends - what a graph of flow lacks for every edge to be able to carry
 * flow: ways out of loops that never end, and ways into code that only it itself
 * leads to. Without them all flow through such an edge would have to be 0, as what flows in flows
 * out.
 *
 * Parts of the graph each of whose blocks reaches all of the others (strongly connected
 * components; Tarjan 1972, with a stack of its own instead of recursion) get a way out if they have
 * a way in and none out, at their last block; a way in if they have a way out and none in, at their
 * first. Parts with neither run in themselves and need nothing. Time and memory are linear in
 * blocks and edges.
 *
 * Memory is kept until flow_loose_ends_release(). One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_graph;

struct flow_loose_end {
	uint32_t block;
	bool way_out; /* from the block to outside; else from outside into it */
};

struct flow_loose_ends {
	struct flow_loose_end *ends; /* by block */
	size_t count;
	size_t lone_count; /* parts that run in themselves */

	/* private */
	size_t capacity, node_capacity;
	struct flow_loose_node *nodes;
	uint32_t outside;      /* the last of them */
	uint32_t *path, *open; /* nodes being visited; those of no finished part */
};

/* Of a settled graph. 0 or -ENOMEM. */
int flow_loose_ends_find(struct flow_loose_ends *ends, const struct flow_graph *graph);
/* The number, that of one of its blocks, of the part of this block, if that runs in itself; else
 * FLOW_OUTSIDE. */
uint32_t flow_loose_ends_lone_part(const struct flow_loose_ends *ends, uint32_t block);
void flow_loose_ends_release(struct flow_loose_ends *ends); /* also right for a zeroed one */
