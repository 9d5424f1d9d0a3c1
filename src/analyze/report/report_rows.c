#include "analyze/report/report_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void report_rows_init(struct report_rows *rows, size_t key_size, size_t column_count)
{
	*rows = (struct report_rows){ .key_size = key_size, .column_count = column_count };
}

void report_rows_release(struct report_rows *rows)
{
	free(rows->keys);
	free(rows->self);
	hash_index_release(&rows->index);
	*rows = (struct report_rows){ 0 };
}

static uint64_t hash_row(const struct report_rows *rows, const uint32_t *key)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < rows->key_size; i++)
		hash = hash_u64(hash + key[i] + 1);
	return hash;
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct report_rows *all = rows;
	return memcmp(report_rows_key(all, position), wanted, all->key_size * sizeof(*all->keys)) ==
	       0;
}

/* Room for one more row of `width` elements behind `count` rows. */
static int reserve(void *elements, size_t *capacity, size_t count, size_t width, size_t size)
{
	void **array = elements;
	if ((count + 1) * width <= *capacity)
		return 0;
	size_t wanted = (count + 1) * 2 * width + 64;
	void *grown = reallocarray(*array, wanted, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

int report_rows_find(struct report_rows *rows, const uint32_t *key, uint32_t *row)
{
	uint64_t hash = hash_row(rows, key);
	*row = hash_index_find(&rows->index, hash, equal, rows, key);
	if (*row != HASH_INDEX_NONE)
		return 0;
	if (rows->count == HASH_INDEX_NONE - 1)
		return -ENOMEM;
	int ret = reserve(&rows->keys, &rows->key_capacity, rows->count, rows->key_size,
			  sizeof(*rows->keys));
	if (ret == 0)
		ret = reserve(&rows->self, &rows->self_capacity, rows->count, rows->column_count,
			      sizeof(*rows->self));
	if (ret < 0)
		return ret;
	memcpy(rows->keys + rows->count * rows->key_size, key, rows->key_size * sizeof(*key));
	memset(report_rows_self(rows, rows->count), 0, rows->column_count * sizeof(struct cell));
	ret = hash_index_add(&rows->index, hash, (uint32_t)rows->count);
	if (ret == 0)
		*row = (uint32_t)rows->count++;
	return ret;
}
