/*
 * perf_data_cells - samples added up by event, context, address and calls. The
 * calls that led to a sample are looked up whole, by the hash of their
 * addresses; only calls that were not met lately walk the trie. Memory grows
 * with distinct places, never with samples: the cache of calls has a fixed size.
 *
 * With hundreds of thousands of places nearly every look misses the CPU's
 * caches, so samples are added in batches that look ahead: a cell changes some
 * samples after perf_cells_add(), at the latest by perf_cells_settle().
 *
 * Numbers of events, images and contexts are those of the reader. One thread at
 * a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"
#include "profile/profile.h"

struct perf_node {
	uint64_t vaddr;
	uint32_t parent;     /* number, 0: root */
	uint32_t image_kind; /* image's number * 2 + enum frame_kind */
};

/* Where a node is found: with its key, so that one look at memory is enough. */
struct perf_node_slot {
	struct perf_node node;
	uint32_t number; /* 0: free */
	uint32_t unused;
};

enum perf_cell_stack {
	PERF_STACK_NONE,  /* no stack was recorded */
	PERF_STACK_LEAF,  /* `calls`, and the sampled address on top */
	PERF_STACK_WHOLE, /* `calls` is the whole stack: its top is another address */
};

struct perf_cell_key {
	uint64_t vaddr; /* sampled */
	uint32_t image;
	uint32_t event, context;
	uint32_t calls; /* node, 0: none */
	uint8_t stack;	/* enum perf_cell_stack */
	uint8_t cause;	/* enum unknown_cause of the address */
};

struct perf_cell {
	struct cell cell;
	struct perf_cell_key key;
};

struct perf_calls_slot {
	uint64_t hash;
	uint32_t node; /* number plus one; 0: free */
	uint32_t used; /* when, for choosing whom to replace */
};

#define PERF_CALLS_WAYS 4u   /* one cache line */
#define PERF_CALLS_SETS 256u /* in the CPU's own cache */
#define PERF_BATCH	64u

struct perf_waiting {
	uint64_t hash;
	struct perf_cell_key key;
	struct cell sum;
};

struct perf_cells {
	struct perf_cell *list;
	size_t count, capacity;
	struct hash_index index;
	struct perf_node *nodes; /* number - 1 */
	size_t node_count, node_capacity;
	struct perf_node_slot *node_slots;
	size_t node_slot_count; /* power of two, or 0 */
	struct perf_calls_slot *calls;
	uint32_t clock;
	struct perf_waiting waiting[PERF_BATCH];
	size_t waiting_count;
};

int perf_cells_init(struct perf_cells *cells); /* 0 or -ENOMEM */
void perf_cells_release(struct perf_cells *cells);

/* Whether calls of that hash were met lately, and their node. */
bool perf_cells_calls(struct perf_cells *cells, uint64_t hash, uint32_t *node);
void perf_cells_remember_calls(struct perf_cells *cells, uint64_t hash, uint32_t node);

/* A node below `parent`. 0 or -ENOMEM. */
int perf_cells_node(struct perf_cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
		    enum frame_kind kind, uint32_t *node);
/* Says that such a node will be asked for soon. */
void perf_cells_expect_node(const struct perf_cells *cells, uint32_t parent, uint32_t image,
			    uint64_t vaddr, enum frame_kind kind);

/*
 * Adds to a cell, which is made when it is new. 0, -ENOMEM, or -EOVERFLOW when a sum
 * passes 64 bits: perhaps of an earlier call.
 */
int perf_cells_add(struct perf_cells *cells, const struct perf_cell_key *key,
		   const struct cell *sum);
int perf_cells_settle(struct perf_cells *cells);
