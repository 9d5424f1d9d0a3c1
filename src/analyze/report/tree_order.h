/*
 * tree_order - the rows of a tree in the order of print: depth first, siblings as the report sorts
 * them, without those that its options leave out.
 */
#pragma once

struct label_tree;
struct report;

/* Rows are the nodes of the tree, by number; what is left out goes to the rest. 0 or -ENOMEM. */
int tree_order(struct report *report, const struct label_tree *tree);
