#include "import/text/known_text.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void known_text_release(struct known_text *known)
{
	free(known->hashes);
	hash_index_release(&known->index);
}

static bool hash_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct hash128 *a = (const struct hash128 *)rows + position;
	const struct hash128 *b = wanted;
	return a->low == b->low && a->high == b->high;
}

int known_text_number(struct known_text *known, const void *text, size_t size, uint32_t *number,
		      bool *added)
{
	struct hash128 hash = hash128_of_text(text, size);
	*number = hash_index_find(&known->index, hash.low, hash_equal, known->hashes, &hash);
	*added = *number == HASH_INDEX_NONE;
	if (!*added)
		return 0;
	if (known->count >= HASH_INDEX_NONE - 1 ||
	    array_reserve(&known->hashes, &known->capacity, known->count, sizeof(hash)) < 0)
		return -ENOMEM;
	known->hashes[known->count] = hash;
	if (hash_index_add(&known->index, hash.low, (uint32_t)known->count) < 0)
		return -ENOMEM;
	*number = (uint32_t)known->count++;
	return 0;
}
