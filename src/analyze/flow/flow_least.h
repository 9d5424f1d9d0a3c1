/*
 * flow_least - executions of blocks and edges that fit together and lie as near as can
 * be to what each block's own estimate says: the circulation f >= 0 (outside is one
 * node: what enters a procedure leaves it) of the least
 *
 *   sum over blocks of price * |f - target|  +  sum over edges of price * f
 *
 * with one price for each execution above a block's target and one for each below.
 * Levin, Newman, Haber, "Complementing missing and inaccurate profiling using a
 * minimum cost circulation algorithm", HiPEAC 2008; He, Mestre, Pupyrev, Wang, Yu,
 * "Profile inference revisited", POPL 2022. It is the "global constraint solver" that
 * the paper on DCPI announces in section 6.1.4.
 *
 * Solved in whole numbers by network simplex (flow_simplex.h): targets are rounded to a
 * power of two, 2^-51 to 2^-50 of their sum, prices to one that is at most 2^-44 of the
 * largest at 20,000 blocks (2^-51 at 100, 2^-27 at 2^31). So flow is conserved exactly,
 * also in the sums of doubles, and equal input gives equal output. A price below half
 * that step is none.
 *
 * Which of several circulations of the same cost is found is not said: an edge's
 * small price prefers ways of few edges. Blocks of a loop that cannot be left, or not
 * be reached, can only have flow among themselves.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_graph;

/* Of one block. Numbers are finite and >= 0; without both prices there is no target. */
struct flow_least_target {
	double count;	    /* executions, in any unit; not read when there is no target */
	double above_price; /* of one execution more than that */
	double below_price; /* of one less */
};

struct flow_least {
	double *blocks; /* executions, in the targets' unit */
	double *edges;	/* as in the graph */
	double cost;	/* of the sum above */
	uint64_t steps; /* taken: arcs priced and nodes passed */
	size_t pivots;	/* exchanges of two arcs that it took */
	bool is_least;	/* false: the limit was met; it is a circulation, but not the best */
};

/* 2^32 steps, 5 to 25 s; code of 20,000 blocks takes 2^27 (docs/methods.md). */
#define FLOW_LEAST_USUAL_LIMIT 0

/*
 * Of a settled graph; `targets` by block, `edge_prices` by edge or NULL for none. What
 * there is after `step_limit` steps is the result, so that it always ends; more steps
 * never make it worse. Takes about 150 bytes a block and 16 an edge besides the result;
 * no bound of the time by size is known; measured (bench/flow.sh) it grows as blocks^1.7. 0, or
 * -ENOMEM with nothing to release.
 */
int flow_least_new(const struct flow_graph *graph, const struct flow_least_target *targets,
		   const double *edge_prices, uint64_t step_limit, struct flow_least *out);
void flow_least_release(struct flow_least *least); /* also right for a zeroed one */
