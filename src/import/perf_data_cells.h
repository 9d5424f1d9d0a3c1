/*
 * perf_data_cells - samples added up by event, context, address and stack. A
 * whole call chain is looked up by its hash, so a sample whose like was seen
 * before costs one look; a new chain walks the trie. Memory grows with distinct
 * places, never with samples: the cache of chains has a fixed size.
 *
 * Numbers of events, images and contexts are those of the reader. One thread at
 * a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/profile.h"

struct perf_node {
	uint64_t vaddr;
	uint32_t parent;     /* number, 0: root */
	uint32_t image_kind; /* image's number * 2 + enum frame_kind */
};

struct perf_cell {
	struct cell cell;
	uint64_t vaddr; /* of the leaf */
	uint32_t image;
	uint32_t event, context;
	uint32_t node; /* 0: no stack */
	uint8_t cause; /* enum unknown_cause of the leaf */
};

struct perf_chain_slot {
	struct hash128 hash;
	uint32_t cell; /* number; 0: free */
	uint32_t used; /* when, for choosing whom to replace */
};

#define PERF_CHAIN_SLOTS (1u << 18)
#define PERF_CHAIN_WAYS	 2u

struct perf_cells {
	struct perf_cell *list; /* number - 1 */
	size_t count, capacity;
	struct hash_index index;
	struct perf_node *nodes; /* number - 1 */
	size_t node_count, node_capacity;
	struct hash_index node_index;
	struct perf_chain_slot *chains;
	uint32_t clock;
};

int perf_cells_init(struct perf_cells *cells); /* 0 or -ENOMEM */
void perf_cells_release(struct perf_cells *cells);

/* The number of the cell that a chain of that hash had, or 0. */
static inline uint32_t perf_cells_of_chain(struct perf_cells *cells, const struct hash128 *hash)
{
	size_t set = hash->low % (PERF_CHAIN_SLOTS / PERF_CHAIN_WAYS) * PERF_CHAIN_WAYS;
	for (size_t i = set; i < set + PERF_CHAIN_WAYS; i++) {
		struct perf_chain_slot *slot = &cells->chains[i];
		if (slot->cell && slot->hash.high == hash->high && slot->hash.low == hash->low) {
			slot->used = ++cells->clock;
			return slot->cell;
		}
	}
	return 0;
}
void perf_cells_remember(struct perf_cells *cells, const struct hash128 *hash, uint32_t cell);

/* A node below `parent`. 0 or -ENOMEM. */
int perf_cells_node(struct perf_cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
		    enum frame_kind kind, uint32_t *node);
/* The number of a cell; `wanted` has everything but the sums. 0 or -ENOMEM. */
int perf_cells_find(struct perf_cells *cells, const struct perf_cell *wanted, uint32_t *number);

/* 0, or -EOVERFLOW when the sum passes 64 bits. */
int perf_cell_add(struct perf_cell *cell, uint64_t samples, uint64_t weight);
