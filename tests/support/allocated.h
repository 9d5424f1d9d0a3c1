/*
 * allocated - zeroed memory for tests, which have no use for a way on without it.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

/* `count` elements of that size, also right for 0; free() frees them. Ends the program when memory
 * runs out. */
static inline void *allocated(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size);
	if (!memory)
		abort();
	return memory;
}
