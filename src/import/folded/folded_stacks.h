/*
 * folded_stacks - the distinct stacks of folded text and their counts, with the
 * nodes that they are in a profile. An import spends its time on finding them: a known
 * stack costs one hash of its text, a new one is read from where it differs from the
 * last new one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "import/code/path_nodes.h"

struct profile;

/* Known by a 128-bit hash of its text alone, which keeps memory small. */
struct folded_stack {
	struct hash128 hash;
	uint64_t lines;	   /* that have it */
	uint64_t whole;	   /* of the sum of their counts */
	uint32_t fraction; /* in 10^-9 */
	uint32_t node;	   /* id in the profile */
};

struct folded_stacks {
	struct folded_stack *list;
	size_t count;
	/* private */
	size_t capacity;
	struct hash_index index;
	struct path_nodes paths; /* by the spelling of frames */
	struct buffer previous;	 /* text of the last new stack */
	struct folded_step *steps;
	size_t step_count, step_capacity;
	struct buffer decoded;
};

void folded_stacks_release(struct folded_stacks *stacks); /* also right for a zeroed one */

/*
 * The stack of that text; a new one has count 0 and its frames are added to
 * `profile`, which is the same for all calls. Valid until the next call. 0 or -ENOMEM.
 */
int folded_stacks_find(struct folded_stacks *stacks, struct profile *profile, struct span text,
		       struct folded_stack **out);
