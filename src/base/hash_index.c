#include "base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/large_pages.h"

void hash_index_release(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){ 0 };
}

uint32_t hash_index_find(const struct hash_index *index, uint64_t hash, hash_index_equal equal,
			 const void *rows, const void *wanted)
{
	if (!index->capacity)
		return HASH_INDEX_NONE;
	size_t mask = index->capacity - 1;
	uint32_t tag = hash_index_tag(hash);
	for (size_t i = tag & mask;; i = (i + 1) & mask) {
		const struct hash_slot *slot = &index->slots[i];
		if (slot->position == HASH_INDEX_NONE)
			return HASH_INDEX_NONE;
		if (slot->tag == tag && equal(rows, slot->position, wanted))
			return slot->position;
	}
}

static void put(struct hash_slot *slots, size_t capacity, struct hash_slot slot)
{
	size_t mask = capacity - 1;
	size_t i = slot.tag & mask;
	while (slots[i].position != HASH_INDEX_NONE)
		i = (i + 1) & mask;
	slots[i] = slot;
}

/* A slot's place depends on its tag alone: no row is read. */
static int grow(struct hash_index *index)
{
	size_t capacity = index->capacity ? index->capacity * 2 : 16;
	struct hash_slot *slots = large_pages_allocate(capacity * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < capacity; i++)
		slots[i].position = HASH_INDEX_NONE;
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i].position != HASH_INDEX_NONE)
			put(slots, capacity, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->capacity = capacity;
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t position)
{
	if (index->used + 1 > index->capacity / 8 * 5) {
		int ret = grow(index);
		if (ret < 0)
			return ret;
	}
	put(index->slots, index->capacity, (struct hash_slot){ position, hash_index_tag(hash) });
	index->used++;
	return 0;
}
