/*
 * label_tree - stacks that begin alike as one tree: a node is found by its parent and its label,
 * a small number of the caller's. Nodes are numbered as they come, so a parent has a lower number
 * than its children, and one pass from the end sums up. Cells stand beside it, a row a node.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "profile/profile.h"

#define LABEL_TREE_NONE UINT32_MAX /* the parent of a root; there may be several */

struct label_node {
	uint32_t parent, label;
};

struct label_tree {
	struct label_node *nodes;
	size_t count, capacity;
	struct hash_index index;
};

void label_tree_release(struct label_tree *tree); /* also right for a zeroed one */
/* Stores the node of that label below that parent in *node, a new one if need be. 0 or -ENOMEM. */
int label_tree_find(struct label_tree *tree, uint32_t parent, uint32_t label, uint32_t *node);

struct node_cells {
	struct cell *list; /* the owner's to free */
	size_t columns, count, capacity;
};

int node_cells_grow(struct node_cells *cells, size_t count); /* of node_cells_reach() */

/* Has a row for each of the first `count` nodes; new ones are empty. 0 or -ENOMEM. */
static inline int node_cells_reach(struct node_cells *cells, size_t count)
{
	return count <= cells->count || !cells->columns ? 0 : node_cells_grow(cells, count);
}

static inline struct cell *node_cells_of(const struct node_cells *cells, size_t node)
{
	return cells->list + node * cells->columns;
}
