/*
 * random_flow - random procedures of sequences, conditions, switches, loops with breaks
 * and early returns, nested in each other, and how often each of their blocks and edges ran.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/flow_graph.h"

struct random_state;

struct random_flow {
	struct flow_graph graph; /* settled; block 0 is the entry */
	double *blocks, *edges;	 /* executions, > 0, by block and by edge of the graph */

	/* private */
	struct flow_passage *passages;
	size_t passage_count, passage_capacity;
	uint32_t block_count;
};

/*
 * About `blocks` blocks, entered `entries` times; the mean trips of a loop are up to
 * `most_trips`, > 1. Aborts when out of memory.
 */
void random_flow_init(struct random_flow *flow, struct random_state *random, uint32_t blocks,
		      double entries, double most_trips);
/*
 * A graph of random edges, with endless loops and unreachable code; `blocks` and `edges` stay NULL.
 */
void random_flow_init_tangled(struct random_flow *flow, struct random_state *random,
			      uint32_t blocks);
void random_flow_release(struct random_flow *flow);
