/*
 * flow_least_cost - executions of blocks and edges that fit together and lie as near as can
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
 * be reached, can only have flow among themselves, unless made-up edges lead out or in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_edge;
struct flow_graph;

/* Of one block. Numbers are finite and >= 0; without both prices there is no target. */
struct flow_least_target {
	double count;	    /* executions, in any unit; not read when there is no target */
	double above_price; /* of one execution more than that */
	double below_price; /* of one less */
};

/* Borrowed. */
struct flow_least_input {
	const struct flow_graph *graph;		 /* settled */
	const struct flow_least_target *targets; /* by block */
	const double *edge_prices;		 /* by edge; NULL: none */
	const struct flow_edge *made_up;	 /* ways from or to outside that the graph lacks */
	size_t made_up_count;
	double made_up_price; /* of each of them */
	/*
	 * What there is after so many steps is the result, so that it always ends; more
	 * never make it worse. 0: 2^32 steps, 5 to 25 s (code of 20,000 blocks takes 2^27).
	 */
	uint64_t step_limit;
};

struct flow_least {
	double *blocks; /* executions, in the targets' unit */
	double *edges;	/* as in the graph */
	double *made_up;
	double cost;	/* of the sum above */
	uint64_t steps; /* taken: arcs priced and nodes passed */
	size_t pivots;	/* exchanges of two arcs that it took */
	bool is_least;	/* false: the limit was met; it is a circulation, but not the best */
};

/*
 * Takes about 150 bytes a block and 16 an edge besides the result. No bound of its time
 * by size is known; measured (bench/flow.sh) it grows as blocks^1.7. 0, or -ENOMEM with
 * nothing to release.
 */
int flow_least_new(const struct flow_least_input *input, struct flow_least *out);
void flow_least_release(struct flow_least *least); /* also right for a zeroed one */
