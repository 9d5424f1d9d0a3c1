/*
 * sparse_chain - flow through a network whose branches have known probabilities: an absorbing
 * Markov chain. With p_ab the probability to go from node a to node b and the rest to the ground,
 *
 *     visits:  f_b = start_b + sum_a f_a p_ab     f = (I - P')^-1 start
 *     values:  v_a = gain_a + sum_b p_ab v_b      v = (I - P)^-1 gain
 *
 * (v is what a walk from a gains on its way: the adjoint of f). The nodes are eliminated one after
 * the other, and 1 - p_aa is always taken as the sum of the other ways out, so nothing is ever
 * subtracted (Grassmann, Taksar, Heyman, "Regenerative analysis and steady state distributions for
 * Markov chains", Operations Research 33, 1985): visits have nearly all of their digits however
 * seldom a loop is left.
 *
 * analyse() once a network, factor() for each set of probabilities, then the rest; time and
 * memory as sparse_ldl.h. Memory is kept until sparse_chain_release(). One thread at a time for
 * each struct.
 */
#pragma once

#include "analyze/flow/sparse_columns.h"

struct sparse_chain {
	uint32_t node_count;

	/* private; columns and rows are positions in the order of elimination */
	struct sparse_columns columns;
	/* by entry: from the row to the column; from the column to the row over `away` */
	double *from_row, *share_to_row;
	double *away;		 /* by position: to others not yet eliminated, and the ground */
	double *share_to_ground; /* of that */
	double *sum_from, *sum_to, *solution;

	size_t *place_of_edge;
	uint8_t *way_of_edge;
	size_t edge_count;
	size_t node_capacity, entry_capacity, edge_capacity;
};

void sparse_chain_release(struct sparse_chain *chain); /* also right for a zeroed one */

/*
 * Edges lead from a, a node, to b, a node or SPARSE_GROUND; any number between the same two, and
 * from a node to itself. 0, -ENOMEM, or -EFBIG: too many entries (sparse_order.h).
 */
int sparse_chain_analyse(struct sparse_chain *chain, uint32_t node_count,
			 const struct sparse_edge *edges, size_t edge_count);

/*
 * Probabilities by edge, >= 0; those out of a node add up to 1. 0, or -EDOM: some node has no way
 * to the ground, or it is too improbable for a double.
 */
int sparse_chain_factor(struct sparse_chain *chain, const double *probabilities);

/* In place, by node: starts become visits. */
void sparse_chain_visits(struct sparse_chain *chain, double *values);
/* In place, by node: gains become values. */
void sparse_chain_values(struct sparse_chain *chain, double *values);
