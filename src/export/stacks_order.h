/*
 * stacks_order - sorts stacks by their text, and joins nodes of one parent and frame.
 * Part of export/stacks.
 */
#pragma once

struct stacks;

/*
 * Fills stacks->lines, in the order of the bytes of folded lines, and makes stacks->path.
 * Among the children of a node that is the order of their texts, but "a b" comes between
 * "a" and "a;c": so each child is sorted twice, once for its own line and once for the
 * lines below it. Returns 0 or -ENOMEM.
 */
int stacks_sort(struct stacks *stacks);
