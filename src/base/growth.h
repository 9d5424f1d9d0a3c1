/*
 * growth - how much room an array or a buffer takes when it has to grow.
 *
 * Doubling hides the pointers that are kept into it: nearly every growth finds
 * room, and the test that would meet a pointer to the old place passes. Where the
 * address sanitizer watches, small ones take just what they need, so that the
 * first addition moves them, and what is emptied for its next use is given back
 * (buffer_empty()): whoever still looks at it is caught at once.
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

#define GROWTH_WATCHED_BYTES 1024 /* moving more than that at each addition takes its time */

/* From here on they grow by a quarter: the C library moves such blocks by their pages, without
 * copying, and what is not used of them is memory that a limit counts. */
#define GROWTH_LARGE_BYTES (1u << 20)

/* Room for `needed` elements, more than `capacity`: at least `first`, doubling while it is small.
 * 0 when no number says how much. */
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
