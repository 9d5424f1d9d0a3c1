/*
 * cells - samples added up by event, context, address and calls.
 *
 * Calls are a trie of places. A node is found by its path: a hash of its place and
 * of all places further out, so that the node of a whole chain takes one look, and
 * the nodes further out are only looked up when that one is new. A cache of fixed
 * size remembers recent lookups (a process makes the same calls again and again).
 * Memory grows with distinct places, never with samples.
 *
 * With hundreds of thousands of places nearly every look misses the CPU's
 * caches, so samples are added in batches that look ahead: a cell changes some
 * samples after cells_add(), at the latest by cells_settle().
 *
 * Events, images and contexts are numbered by whoever adds samples. One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/profile.h"

#define CELLS_ROOT_PATH UINT64_C(0) /* of no place */

struct cells_node {
	uint64_t path;
	uint64_t vaddr;
	uint32_t parent;     /* number, 0: root */
	uint32_t image_kind; /* image's number * 2 + enum frame_kind */
};

struct cells_slot {
	uint64_t path;
	uint32_t number; /* 0: free */
	uint32_t unused;
};

enum cell_stack {
	CELL_STACK_NONE,  /* no stack was recorded */
	CELL_STACK_LEAF,  /* `calls`, and the sampled address on top */
	CELL_STACK_WHOLE, /* `calls` is the whole stack: its top is another address */
};

struct cell_key {
	uint64_t vaddr; /* sampled */
	uint32_t image;
	uint32_t event, context;
	uint32_t calls; /* node, 0: none */
	uint8_t stack;	/* enum cell_stack */
	uint8_t cause;	/* enum unknown_cause of the address */
};

struct cells_entry {
	struct cell cell;
	struct cell_key key;
};

struct cells_known {
	uint64_t key, value;
};

#define CELLS_KNOWN_WAYS 4u /* one cache line, the latest first */
/* 128 KiB, which fit into a CPU's L2 cache. Under sanitizers so few that tests replace entries. */
#define CELLS_KNOWN_SETS (GROWTH_IS_WATCHED ? 16u : 2048u)
#define CELLS_BATCH	 64u

struct cells_waiting {
	uint64_t hash;
	struct cell_key key;
	struct cell sum;
};

struct cells {
	struct cells_entry *list;
	size_t count, capacity;
	struct hash_index index;
	struct cells_node *nodes; /* number - 1 */
	size_t node_count, node_capacity;
	struct cells_slot *node_slots;
	size_t node_slot_count; /* power of two, or 0 */
	struct cells_known *known;
	struct cells_waiting waiting[CELLS_BATCH];
	size_t waiting_count;
};

int cells_init(struct cells *cells);	 /* 0 or -ENOMEM */
void cells_release(struct cells *cells); /* also right for a zeroed one */
/* Frees the index of the nodes: from here on none can be looked up or added. */
void cells_close(struct cells *cells);

/* The cache: keys are hashes, of whatever the caller likes; 0 is never found. False: the key was
 * not remembered, or was replaced since. */
bool cells_recall(struct cells *cells, uint64_t key, uint64_t *value);
void cells_remember(struct cells *cells, uint64_t key, uint64_t value);

/* The path of a place that was called from the end of another path. */
static inline uint64_t cells_path_below(uint64_t outer, uint32_t image, uint64_t vaddr,
					enum frame_kind kind)
{
	uint64_t place = (uint64_t)(image * 2 + (kind == FRAME_RETURN)) << 32;
	uint64_t path = hash_u64(hash_u64(outer ^ place) ^ vaddr);
	return path == CELLS_ROOT_PATH ? 1 : path;
}

/* The node of a path; 0: there is none, or it is the root's. */
uint32_t cells_find(const struct cells *cells, uint64_t path);
/* A node below `parent`, which is made when it is new. 0 or -ENOMEM. */
int cells_node(struct cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
	       enum frame_kind kind, uint32_t *node);
/* The path of a node; of 0, the root's. */
uint64_t cells_path(const struct cells *cells, uint32_t node);
/* Prefetches what cells_find() reads for that path. */
void cells_expect(const struct cells *cells, uint64_t path);

/*
 * Adds *sum to the cell of *key, which is made when it is new; at once or with one of
 * the next calls, whose error then may be this one's. 0, -ENOMEM, or -EOVERFLOW when an
 * estimate passes 64 bits. Samples that wait behind one that failed are lost.
 */
int cells_add(struct cells *cells, const struct cell_key *key, const struct cell *sum);
int cells_settle(struct cells *cells); /* adds all that waits; errors as of cells_add() */
