#include "profile/byte_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

void byte_pool_release(struct byte_pool *pool)
{
	arena_release(&pool->arena);
	free(pool->spans);
	hash_index_release(&pool->index);
	*pool = (struct byte_pool){ 0 };
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct byte_pool *pool = rows;
	return span_equal(pool->spans[position], *(const struct span *)wanted);
}

static bool find(const struct byte_pool *pool, struct span bytes, uint64_t hash, uint32_t *id)
{
	uint32_t position = hash_index_find(&pool->index, hash, equal, pool, &bytes);
	*id = position + 1;
	return position != HASH_INDEX_NONE;
}

bool byte_pool_find(const struct byte_pool *pool, struct span bytes, uint32_t *id)
{
	return find(pool, bytes, hash_bytes(bytes.data, bytes.size), id);
}

int byte_pool_add(struct byte_pool *pool, struct span bytes, uint32_t *id)
{
	uint64_t hash = hash_bytes(bytes.data, bytes.size);
	if (find(pool, bytes, hash, id))
		return 0;
	if (pool->count >= UINT32_MAX - 1)
		return -ENOMEM;
	int ret = array_reserve(&pool->spans, &pool->capacity, pool->count, sizeof(*pool->spans));
	if (ret < 0)
		return ret;
	const char *copy = arena_copy_text(&pool->arena, bytes.data, bytes.size);
	if (!copy)
		return -ENOMEM;
	pool->spans[pool->count] = (struct span){ copy, bytes.size };
	ret = hash_index_add(&pool->index, hash, (uint32_t)pool->count);
	if (ret < 0)
		return ret;
	*id = (uint32_t)++pool->count;
	return 0;
}
