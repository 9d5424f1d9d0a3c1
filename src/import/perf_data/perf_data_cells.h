/*
 * perf_data_cells - samples added up by event, context, address and calls.
 *
 * Calls are a trie of places. A node is found by its path: a hash of its place and
 * of all places further out, so that the node of a whole chain takes one look, and
 * the nodes further out are only asked for when that one is new. A cache of fixed
 * size remembers what was met lately (a process makes the same calls again and
 * again). Memory grows with distinct places, never with samples.
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

#include "base/growth.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/profile.h"

#define PERF_ROOT_PATH UINT64_C(0) /* of no place */

struct perf_node {
	uint64_t path;
	uint64_t vaddr;
	uint32_t parent;     /* number, 0: root */
	uint32_t image_kind; /* image's number * 2 + enum frame_kind */
};

struct perf_node_slot {
	uint64_t path;
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

struct perf_known {
	uint64_t key, value;
};

#define PERF_KNOWN_WAYS 4u /* one cache line, the latest first */
/* 128 KiB: in the CPU's own second cache. Where sanitizers watch, so few that they are needed
 * again. */
#define PERF_KNOWN_SETS (GROWTH_IS_WATCHED ? 16u : 2048u)
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
	struct perf_known *known;
	struct perf_waiting waiting[PERF_BATCH];
	size_t waiting_count;
};

int perf_cells_init(struct perf_cells *cells); /* 0 or -ENOMEM */
void perf_cells_release(struct perf_cells *cells);

/* Whether that key was remembered lately, and what is known by it. What keys are hashes of is the
 * caller's business. */
bool perf_cells_recall(struct perf_cells *cells, uint64_t key, uint64_t *value);
void perf_cells_remember(struct perf_cells *cells, uint64_t key, uint64_t value);

/* The path of a place that was called from the end of another path. */
static inline uint64_t perf_path(uint64_t outer, uint32_t image, uint64_t vaddr,
				 enum frame_kind kind)
{
	uint64_t place = (uint64_t)(image * 2 + (kind == FRAME_RETURN)) << 32;
	uint64_t path = hash_u64(hash_u64(outer ^ place) ^ vaddr);
	return path == PERF_ROOT_PATH ? 1 : path;
}

/* The node of a path; 0: there is none, or it is the root's. */
uint32_t perf_cells_find(const struct perf_cells *cells, uint64_t path);
/* A node below `parent`, which is made when it is new. 0 or -ENOMEM. */
int perf_cells_node(struct perf_cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
		    enum frame_kind kind, uint32_t *node);
/* The path of a node; of 0, the root's. */
uint64_t perf_cells_path(const struct perf_cells *cells, uint32_t node);
/* Says that a node of that path will be asked for soon. */
void perf_cells_expect(const struct perf_cells *cells, uint64_t path);

/*
 * Adds to a cell, which is made when it is new. 0, -ENOMEM, or -EOVERFLOW when a sum
 * passes 64 bits: perhaps of an earlier call.
 */
int perf_cells_add(struct perf_cells *cells, const struct perf_cell_key *key,
		   const struct cell *sum);
int perf_cells_settle(struct perf_cells *cells);
