/*
 * number_map - numbers to pointers, with removal. Open addressing, at most half
 * full; keys are hashed, so any numbers will do. The pointers are the owner's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct number_slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct number_map {
	struct number_slot *slots;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

void number_map_release(struct number_map *map);		   /* also right for a zeroed one */
void *number_map_find(const struct number_map *map, uint64_t key); /* or NULL */
/* `value` is not NULL; it takes the place of an earlier one. 0 or -ENOMEM. */
int number_map_put(struct number_map *map, uint64_t key, void *value);
/* The value that was there, or NULL. */
void *number_map_remove(struct number_map *map, uint64_t key);
/* Walks all entries: the value at or after *position, which moves past it; NULL at the end. */
void *number_map_next(const struct number_map *map, size_t *position);
