/*
 * broken_stacks_text - a sentence on stacks that lack their callers, for the foot
 * of a report and the head of a flame graph.
 */
#pragma once

#include <stdbool.h>

struct buffer;
struct scope_broken_stacks;

/* "44.4 % of stacks break in code without frame pointers: cc1 35.1 %, ...". Writes nothing and
 * returns false when none does and nearly all could be judged. */
bool broken_stacks_text(const struct scope_broken_stacks *stacks, struct buffer *out);
/* How to get them whole, or NULL where too few are broken to bother. */
const char *broken_stacks_cure(const struct scope_broken_stacks *stacks);
