/*
 * code_space_stash - the code_space of one image over a stash: that of a profile,
 * or what was read from a file of this machine, which are the same records
 * (resolver_stash() finds the one that knows). Code and data that lie side by side
 * read as one, whichever samples brought them.
 *
 * Making one costs the number of the image's records of code and data; all else is
 * decoded on demand and kept, each once. When memory runs out an answer is empty, as if
 * nothing were known.
 */
#pragma once

#include <stdint.h>

#include "analyze/flow/code_space.h"

struct code_space_stash;
struct stash_index;

/* The index outlives the space. Returns 0 or -ENOMEM. */
int code_space_stash_new(const struct stash_index *index, uint32_t image, enum isa isa,
			 struct code_space_stash **out);
void code_space_stash_free(struct code_space_stash *stash);
void code_space_stash_freep(struct code_space_stash **stash); /* for CLEANUP() */
/* It lives as long as the stash it is of. */
const struct code_space *code_space_of_stash(const struct code_space_stash *stash);
