/*
 * sparse_order - in which order to eliminate the nodes of a sparse symmetric
 * system so that few new entries arise, and which entries each node then has:
 * approximate minimum degree on the quotient graph (Amestoy, Davis, Duff, "An
 * approximate minimum degree ordering algorithm", SIAM J. Matrix Anal. Appl. 17,
 * 1996; without its supervariables). An eliminated node becomes an element that
 * lists its neighbours; elements within a later one are absorbed by it. Nodes
 * with more than 10 * sqrt(nodes) neighbours come last, as there.
 *
 * The lists of the elements are the columns of the factor, so nothing else has to
 * find those. Time and memory are proportional to the entries of the factor, about 2
 * a node in graphs of structured code. What would take more than
 * SPARSE_MOST_OPERATIONS to factor, the sum of the squares of entries by column, is refused.
 *
 * Fill anew as often as wanted: memory is kept until sparse_order_release(). Equal
 * input gives equal output. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Some 0.3 s a factorization; structured code of a million blocks has 2^23. */
#define SPARSE_MOST_OPERATIONS ((uint64_t)1 << 27)
#define SPARSE_GROUND	       UINT32_MAX

/* An entry of the matrix, between two different nodes; with SPARSE_GROUND none. */
struct sparse_edge {
	uint32_t a, b;
};

struct sparse_order {
	uint32_t node_count;
	uint32_t *nodes;       /* in the order of elimination */
	size_t *entries_start; /* by position in that order, and one more */
	uint32_t *entries;     /* the later neighbours of each, as node numbers, in no order */

	/* private */
	size_t entry_capacity, node_capacity, slot_capacity;
	size_t *slot_start;
	uint32_t *slots;
	struct sparse_order_node *state;
	uint32_t *bucket; /* first node of each degree */
};

/* Edges may recur. 0, -ENOMEM, or -EFBIG: more than SPARSE_MOST_OPERATIONS. */
int sparse_order_make(struct sparse_order *order, uint32_t node_count,
		      const struct sparse_edge *edges, size_t edge_count);
void sparse_order_release(struct sparse_order *order); /* also right for a zeroed one */
