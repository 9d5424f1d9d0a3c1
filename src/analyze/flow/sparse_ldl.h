/*
 * sparse_ldl - symmetric systems as networks of conductances: the matrix
 *
 *     A = sum over edges of weight * (e_a - e_b)(e_a - e_b)^T
 *
 * where an edge to SPARSE_GROUND adds to the diagonal of its node alone. Every
 * symmetric matrix can be written so: -A_ab between a and b, the sum of row a to
 * the ground. With no weight below 0, A = (1 - L) D (1 - L)^T is found without one
 * subtraction, as for Markov chains (Grassmann, Taksar, Heyman, "Regenerative
 * analysis", Operations Research 33, 1985; error bounds by entry: O'Cinneide, Numer.
 * Math. 65, 1993). So each entry has nearly all of its digits, however near to
 * singular A is. A part of the network without a way to the ground has its
 * potentials up to a constant: its last node's is 0.
 *
 * Of the inverse Z = A^-1 we give Z_aa, and for every edge the resistance between
 * its ends, R_ab = Z_aa + Z_bb - 2 Z_ab, from the factor's pattern alone: the
 * selected inverse (Takahashi, Fagan, Chin, "Formation of a sparse bus impedance
 * matrix", 1973). Resistances come from resistances, and on demand the solution's
 * differences from differences: those of the values themselves have no digits left
 * where a part hangs on the ground loosely.
 *
 * analyse() once a network, factor() for each set of weights, then the rest. Time
 * and memory go with the entries of the factor (sparse_order.h); the time of
 * factor(), differences() and resistances() with the sum of their squares by
 * column: linear in the nodes for graphs of control flow. Memory is kept until
 * sparse_ldl_release(). One thread at a time for each struct.
 */
#pragma once

#include "analyze/flow/sparse_columns.h"

struct sparse_ldl {
	uint32_t node_count;
	size_t entry_count;   /* of L, below its diagonal */
	uint32_t loose_count; /* parts without ground, by the last factor() */

	/* private; columns and rows are positions in the order of elimination */
	struct sparse_columns columns;
	double *factor;
	double *of_entries; /* resistances or differences between row and column */
	/* by position */
	double *pivot, *to_ground, *ground_resistance;
	double *scratch, *near, *solution;
	bool *loose;

	size_t *place_of_edge; /* entry of L; of edges to ground the position */
	struct sparse_edge *edges;
	size_t edge_count;
	size_t node_capacity, entry_capacity, edge_capacity;
};

void sparse_ldl_release(struct sparse_ldl *ldl); /* also right for a zeroed one */

/*
 * Copies the edges (of two different ends, one of which may be SPARSE_GROUND; any
 * number between the same two). 0, -ENOMEM, or -EFBIG: too many entries.
 */
int sparse_ldl_analyse(struct sparse_ldl *ldl, uint32_t node_count, const struct sparse_edge *edges,
		       size_t edge_count);

/* Weights by edge, finite. 0, or -EDOM: not positive definite (never with weights >= 0). */
int sparse_ldl_factor(struct sparse_ldl *ldl, const double *weights);

/* Replaces `values`, by node, by A^-1 values; in a loose part they should add up to 0. */
void sparse_ldl_solve(struct sparse_ldl *ldl, double *values);

/*
 * The same, as x_a - x_b by edge of x = A^-1 values (ground is at 0): each from differences, so
 * that those within a part that hangs on the ground loosely have all their digits.
 */
void sparse_ldl_differences(struct sparse_ldl *ldl, const double *values, double *by_edge);

/*
 * By edge the resistance between its ends, and by node Z_aa: the resistance to
 * the ground, INFINITY in a loose part. Either may be NULL. Not specified for an edge of
 * weight 0 that alone connects two parts.
 */
void sparse_ldl_resistances(struct sparse_ldl *ldl, double *by_edge, double *by_node);
