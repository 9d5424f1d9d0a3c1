#include "base/number_map.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

void number_map_release(struct number_map *map)
{
	free(map->slots);
	*map = (struct number_map){ 0 };
}

/* The slot that holds `key`, or the free one where it would go. */
static size_t locate(const struct number_map *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	size_t at = hash_u64(key) & mask;
	while (map->slots[at].value && map->slots[at].key != key)
		at = (at + 1) & mask;
	return at;
}

void *number_map_find(const struct number_map *map, uint64_t key)
{
	return map->capacity ? map->slots[locate(map, key)].value : NULL;
}

static int grow(struct number_map *map)
{
	struct number_map larger = { .capacity = map->capacity ? map->capacity * 2 : 64,
				     .count = map->count };
	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value)
			larger.slots[locate(&larger, map->slots[i].key)] = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

int number_map_put(struct number_map *map, uint64_t key, void *value)
{
	if (map->count >= map->capacity / 2) {
		int ret = grow(map);
		if (ret < 0)
			return ret;
	}
	struct number_slot *slot = &map->slots[locate(map, key)];
	map->count += !slot->value;
	*slot = (struct number_slot){ key, value };
	return 0;
}

void *number_map_remove(struct number_map *map, uint64_t key)
{
	if (!map->capacity)
		return NULL;
	size_t mask = map->capacity - 1;
	size_t hole = locate(map, key);
	void *value = map->slots[hole].value;
	if (!value)
		return NULL;
	map->count--;
	/* Entries after the hole move back unless that would put them before their own place. */
	for (size_t at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
		size_t home = hash_u64(map->slots[at].key) & mask;
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		map->slots[hole] = map->slots[at];
		hole = at;
	}
	map->slots[hole].value = NULL;
	return value;
}

void *number_map_next(const struct number_map *map, size_t *position)
{
	while (*position < map->capacity) {
		void *value = map->slots[(*position)++].value;
		if (value)
			return value;
	}
	return NULL;
}
