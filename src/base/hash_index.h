/*
 * hash_index - finds the position of a row by its content. It stores only
 * hashes and positions; rows stay in the caller's array, which compares them.
 * Open addressing, linear probing, at most 5/8 full. Rows are never removed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_INDEX_NONE UINT32_MAX

struct hash_slot {
	uint32_t position; /* HASH_INDEX_NONE: free */
	uint32_t tag; /* upper half of the hash: where to look first; where it differs no row is
			 compared */
};

struct hash_index {
	struct hash_slot *slots;
	size_t capacity; /* power of two, or 0 */
	size_t used;
};

/* Says whether the row at `position` is the one that is looked for. */
typedef bool (*hash_index_equal)(const void *rows, uint32_t position, const void *wanted);

void hash_index_release(struct hash_index *index);
/* The position of a row for which `equal` is true, or HASH_INDEX_NONE. */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal equal,
			 const void *rows, const void *wanted);
/* Adds a row that is not there yet. Returns 0 or -ENOMEM. */
int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position);

static inline uint32_t hash_index_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

/* Where hash_index_find() looks first, for a caller that prefetches it. The index must not be
 * empty.
 */
static inline const struct hash_slot *hash_index_first_slot(const struct hash_index *index,
							    uint64_t hash)
{
	return &index->slots[hash_index_tag(hash) & (index->capacity - 1)];
}
