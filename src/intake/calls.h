/*
 * calls - by which calls a sample came to be where it was: from the frames of a
 * chain to a node of the trie of places in `struct cells`.
 *
 * Recent calls are found by their addresses, without looking up where each of them
 * lies: the cells remember which node the addresses of a chain led to while they
 * meant the same (world.meaning). A process makes the same calls again and again,
 * so that most chains cost one look into that cache.
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

/* Stores in *node the node of the chain's frames from `first` (0: the innermost) outwards, which is
 * added when it is new; 0 when there are no frames and no user's part is missing. 0 or -ENOMEM. */
int calls_of_chain(struct cells *cells, const struct world *world, struct process *process,
		   struct chain *chain, size_t first, uint32_t *node);

/*
 * How many of a sample's words stand before its callers: up to and with the first
 * address, which the kernel makes the sampled one. 0 when the first address is not
 * `ip`, or not in `mode`.
 */
uint64_t calls_words_before(const struct perf_words *words, enum code_mode mode, uint64_t ip);

/*
 * Stores in *node the node of the callers, which stand behind the first `before` words (as
 * chain_words_of_leaf() counts them); 0 when there are none. `scratch` is a chain of the caller's,
 * which is filled when the cells do not remember these callers. 0 or -ENOMEM.
 */
int calls_of_words(struct cells *cells, const struct world *world, struct process *process,
		   const struct perf_words *words, uint64_t before, struct chain *scratch,
		   uint32_t *node);
