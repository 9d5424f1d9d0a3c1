/*
 * growth - how much room an array or a buffer takes when it has to grow.
 *
 * Doubling hides pointers that are wrongly kept into an array: nearly every addition
 * finds room and moves nothing, so the test of the code that keeps one passes. Under the
 * address sanitizer small arrays take just what they need, so that each addition
 * moves them, and buffer_empty() frees what it empties: a pointer to the old place
 * is caught at its next use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define GROWTH_IS_WATCHED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GROWTH_IS_WATCHED true
#endif
#endif
#ifndef GROWTH_IS_WATCHED
#define GROWTH_IS_WATCHED false
#endif

#define GROWTH_WATCHED_BYTES 1024 /* moving more than that at each addition would take too long */

/* From this size on they grow by a quarter: the C library moves such blocks by remapping their
 * pages, without copying, and room that is not used counts against a budget (budget.h). */
#define GROWTH_LARGE_BYTES (1u << 20)

/* The new capacity for `needed` elements, which are more than `capacity`; at least `first`. 0: the
 * number does not fit size_t. */
static inline size_t growth_capacity(size_t capacity, size_t needed, size_t first,
				     size_t element_size)
{
	if (GROWTH_IS_WATCHED && needed <= GROWTH_WATCHED_BYTES / element_size)
		return needed;
	size_t wanted = capacity ? capacity : first;
	while (wanted < needed) {
		size_t more = wanted < GROWTH_LARGE_BYTES / element_size ? wanted : wanted / 4 + 1;
		if (wanted > SIZE_MAX - more)
			return 0;
		wanted += more;
	}
	return wanted;
}
