/*
 * calls - by which calls a sample came to be where it was: from the frames of a
 * chain to a node of the trie of places in `struct cells`.
 *
 * Calls that came lately are found by their addresses, without asking the world
 * where each of them lies: the cells remember which node the addresses of a chain
 * led to while they meant the same (world.meaning). A process makes the same
 * calls again and again, so that most chains cost one look.
 *
 * One rule for what nobody knows: a run of frames that are unknown for one cause
 * is one frame. Chains without frame pointers wander, and each word that is no
 * address would make another stack. The innermost frame always counts by itself.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "intake/cells.h"
#include "intake/chain.h"
#include "intake/world.h"

/* The node of the chain's frames from `first` on; 0 when there is none. 0 or -ENOMEM. */
int calls_of_chain(struct cells *cells, const struct world *world, struct process *process,
		   struct chain *chain, size_t first, uint32_t *node);

/*
 * How many of a sample's words come before its callers, when the first address
 * among them is the sampled one in the sampled mode, as the kernel writes them; 0
 * when they say something else.
 */
uint64_t calls_words_before(const struct perf_words *words, enum code_mode mode, uint64_t ip);

/*
 * The node of the callers behind that many words, the last of which is the first address. `scratch`
 * is the caller's chain, filled when they did not come lately. 0 or -ENOMEM.
 */
int calls_of_words(struct cells *cells, const struct world *world, struct process *process,
		   const struct perf_words *words, uint64_t before, struct chain *scratch,
		   uint32_t *node);
