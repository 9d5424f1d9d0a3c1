/*
 * interval_map - which of many overlapping ranges holds an address: among those
 * that do, the one of the highest priority. Built once in O(n log n), however
 * the ranges nest; a look-up is one binary search.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define INTERVAL_NONE UINT32_MAX

struct interval {
	uint64_t first;
	uint64_t last; /* inclusive, not below first */
	uint64_t priority;
	uint32_t owner; /* the caller's number, not INTERVAL_NONE; of equal priorities the lower one
			   wins */
};

struct interval_piece {
	uint64_t first, last;
	uint32_t owner;
};

struct interval_map {
	struct interval_piece
		*pieces; /* by first, disjoint; neighbours of one owner are one piece */
	size_t count;
	size_t capacity;
};

/* Sorts `intervals` by first. Returns 0 or -ENOMEM. */
int interval_map_build(struct interval_map *map, struct interval *intervals, size_t count);
void interval_map_release(struct interval_map *map); /* also right for a zeroed one */
/* The last piece that begins at `address` or before it, or NULL. */
const struct interval_piece *interval_map_before(const struct interval_map *map, uint64_t address);
/* The piece that holds `address`, or NULL. */
const struct interval_piece *interval_map_find(const struct interval_map *map, uint64_t address);

static inline uint32_t interval_map_owner(const struct interval_map *map, uint64_t address)
{
	const struct interval_piece *piece = interval_map_find(map, address);
	return piece ? piece->owner : INTERVAL_NONE;
}
