/*
 * flow_graph - where control can go inside one procedure: basic blocks, numbered
 * from 0 in the order of their addresses, and the edges between them. Where it
 * comes in from elsewhere (a call, a jump into the middle, an exception) and where
 * it leaves (a return, a tail call, a call that never comes back) are edges from
 * and to FLOW_OUTSIDE, so that what flows into a block is what flows out of it.
 * Calls that come back lie inside of blocks.
 *
 * Filled by flow_graph_add() and then settled; after that nothing changes it, and
 * threads may share it. Numbers of blocks are the caller's promise, checked by
 * assert(): they come from decoding, never from a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_OUTSIDE UINT32_MAX

enum flow_edge_kind {
	FLOW_NEXT,	  /* to the next block: no branch, or one that is not taken */
	FLOW_BRANCH,	  /* by a direct jump */
	FLOW_INDIRECT,	  /* through a jump table or a computed goto */
	FLOW_ENTRY,	  /* from outside, to where the procedure starts */
	FLOW_OTHER_ENTRY, /* from outside, into the middle; also to blocks that no edge is known to
			     lead to */
	FLOW_LANDING,	  /* from outside: an exception is caught or cleaned up after */
	FLOW_RETURN,	  /* to outside */
	FLOW_TAIL,	  /* to outside, by a jump into other code */
	FLOW_NO_RETURN,	  /* to outside: by a call that does not come back, or a trap */
};

struct flow_edge {
	uint32_t from, to; /* blocks, or one of both FLOW_OUTSIDE */
	enum flow_edge_kind kind;
};

/* The edges at one block: positions in flow_graph.edges. */
struct flow_ends {
	const uint32_t *list;
	size_t count;
};

struct flow_graph {
	uint32_t block_count;
	bool missing_edges;	 /* an indirect jump has targets that are not known */
	struct flow_edge *edges; /* by from, to (FLOW_OUTSIDE is last); one for each pair */
	size_t edge_count;

	/* private */
	size_t edge_capacity;
	uint32_t *into_list, *into_start; /* edges by `to`; by block + 1 where its edges start */
	uint32_t *out_list, *out_start;
};

/* An empty graph of that many blocks, for flow_graph_release(). */
void flow_graph_init(struct flow_graph *graph, uint32_t block_count);
void flow_graph_release(struct flow_graph *graph); /* also right for a zeroed one */
/* Two edges of one pair become one, of the kind that stands first above. 0 or -ENOMEM. */
int flow_graph_add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind);
/*
 * Orders the edges. A block that nothing leads to gets a FLOW_OTHER_ENTRY, one that
 * leads nowhere a FLOW_NO_RETURN: control was seen where it cannot come from, so
 * an edge is not known. 0 or -ENOMEM.
 */
int flow_graph_settle(struct flow_graph *graph);

/* Of a settled graph. */
struct flow_ends flow_graph_into(const struct flow_graph *graph, uint32_t block);
struct flow_ends flow_graph_out_of(const struct flow_graph *graph, uint32_t block);
