/*
 * stacks - the stacks of a profile as exporters write them: each distinct one
 * once, with the cells of every chosen event, in the order of the bytes of their
 * folded lines. Stacks of equal text that are not one (STACKS_BY_ADDRESS) follow
 * each other in the order of the profile's ids.
 *
 * An event without stacks has its leaves instead: command, image, procedure.
 * stacks_new() takes time linear in rows and nodes, and sorts numbers only. Texts
 * borrow from the profile and its resolver, which outlive it. Nothing changes
 * it afterwards, except the path that stacks_path() returns.
 */
#pragma once

#include "export/stack_tree.h"

/* Stores *out, which the caller frees, and fills `sums` of each chosen column. Returns 0 or
 * -ENOMEM. */
int stacks_new(const struct export_input *input, enum stacks_grain grain, struct export_sums *sums,
	       struct stacks **out);
void stacks_free(struct stacks *stacks);
void stacks_freep(struct stacks **stacks); /* for CLEANUP() */

/* The frames of lines[i], root first; valid until the next call. */
const uint32_t *stacks_path(struct stacks *stacks, size_t i, size_t *depth);
/* The cells of lines[i], one for each chosen column. */
const struct cell *stacks_cells(const struct stacks *stacks, size_t i);
