/*
 * sorted - where a number stands in an array whose elements rise by one of their fields, a
 * uint64_t (several may have the same). The array may be NULL where it has no elements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The position of the first element whose field is at least the key; `count` when there is none. */
#define SORTED_FROM(list, count, field, key)                                                       \
	sorted_position((list), (count), sizeof(*(list)), SORTED_OFFSET(list, field), (key), false)
/* The position of the first element whose field is above the key; `count` when there is none. The
 * element before it is the last whose field is at most the key. */
#define SORTED_BEHIND(list, count, field, key)                                                     \
	sorted_position((list), (count), sizeof(*(list)), SORTED_OFFSET(list, field), (key), true)

/* Fields of other types do not compile. */
#define SORTED_OFFSET(list, field)                                                                 \
	_Generic((list)->field, uint64_t : offsetof(__typeof__(*(list)), field))

/* For qsort(): the order of uint64_t. */
static inline int sorted_compare_u64(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

static inline size_t sorted_position(const void *list, size_t count, size_t element_bytes,
				     size_t field_offset, uint64_t key, bool behind)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t value;
		memcpy(&value, (const char *)list + middle * element_bytes + field_offset,
		       sizeof(value));
		if (value < key || (behind && value == key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
