/*
 * stacks_order - the order of stacks by what they read, in which nodes that are
 * there more than once become one. Part of export/stacks.
 */
#pragma once

struct stacks;

/*
 * Fills the lines and the room for a path. Lines come in the order of their bytes.
 * Among the children of a node that is the order of their texts, but "a b" comes
 * between "a" and "a;c": so a child counts twice, once for its own line and once
 * for what is below it. Returns 0 or -ENOMEM.
 */
int stacks_sort(struct stacks *stacks);
