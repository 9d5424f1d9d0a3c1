/*
 * flow_propagate - what estimates of some classes say of other blocks and edges: what a
 * block executes is the sum of the edges into it and of those out of it, so where all
 * but one of them are known the last is too. Anderson et al., "Continuous profiling:
 * where have all the cycles gone?", SOSP 1997, section 6.1.4: a new estimate holds for
 * its whole class at once, and none is below 0.
 *
 * Estimates that contradict each other stay as they are; flow_least.h makes them fit.
 * Linear in blocks, edges and classes; memory 28 bytes a block, 4 an edge and 20 a class
 * while it runs. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct flow_edge;
struct flow_graph;

enum flow_origin {
	FLOW_UNKNOWN,	 /* the value is NaN */
	FLOW_ESTIMATED,	 /* its class's own estimate */
	FLOW_PROPAGATED, /* a sum or difference of others */
	FLOW_CLAMPED,	 /* 0, where the difference was below it: the estimates contradict */
	FLOW_GUESSED,	 /* an equal share of what is left at a block whose other edges are known */
};

struct flow_executions {
	double value;
	enum flow_origin origin;
};

/* Borrowed. */
struct flow_propagate_input {
	const struct flow_graph *graph; /* settled */
	/* Ways from or to outside that the graph lacks: what they carry stays unknown. */
	const struct flow_edge *made_up;
	size_t made_up_count;
	uint32_t class_count;
	const uint32_t *class_of_block, *class_of_edge;
	const double *estimates; /* by class; NaN where there is none */
};

/*
 * By block and by edge of the graph. Where an edge can't be told, what is left of the
 * block that it leaves (or, when that one is unknown or outside, of the one that it
 * enters) is split equally among those that can't, and nothing is left to made-up ones; guesses
 * tell nothing of others. 0 or -ENOMEM.
 */
int flow_propagate(const struct flow_propagate_input *input, struct flow_executions *blocks,
		   struct flow_executions *edges);
