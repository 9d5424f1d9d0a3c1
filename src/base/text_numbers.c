#include "base/text_numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define SHORT 64 /* bytes: reading fewer is faster than looking up their address */

void text_numbers_release(struct text_numbers *numbers)
{
	free(numbers->texts);
	hash_index_release(&numbers->index);
	number_map_release(&numbers->long_ones);
	*numbers = (struct text_numbers){ 0 };
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct span *)rows)[position], *(const struct span *)wanted);
}

static int number_by_content(struct text_numbers *numbers, struct span text, uint32_t *number)
{
	uint64_t hash = hash_bytes(text.data, text.size);
	*number = hash_index_find(&numbers->index, hash, equal, numbers->texts, &text);
	if (*number != HASH_INDEX_NONE)
		return 0;
	if (numbers->count >= HASH_INDEX_NONE ||
	    array_reserve(&numbers->texts, &numbers->capacity, numbers->count,
			  sizeof(*numbers->texts)) < 0 ||
	    hash_index_add(&numbers->index, hash, (uint32_t)numbers->count) < 0)
		return -ENOMEM;
	numbers->texts[numbers->count] = text;
	*number = (uint32_t)numbers->count++;
	return 0;
}

int text_number(struct text_numbers *numbers, const char *text, uint32_t *number)
{
	const size_t size = strnlen(text, SHORT);
	if (size < SHORT)
		return number_by_content(numbers, (struct span){ text, size }, number);
	const uint64_t address = (uintptr_t)text;
	uintptr_t known = (uintptr_t)number_map_find(&numbers->long_ones, address);
	if (known) {
		*number = (uint32_t)(known - 1);
		return 0;
	}
	int ret = number_by_content(numbers, span_of_text(text), number);
	return ret < 0 ? ret
		       : number_map_put(&numbers->long_ones, address,
					(void *)((uintptr_t)*number + 1));
}
