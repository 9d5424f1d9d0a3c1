/*
 * large_pages - memory of 4 MiB and more that is read at random: in pages of 2 MiB, where
 * the kernel has some to give, that takes half the time.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE_BYTES  (2u << 20)
#define LARGE_PAGES_LEAST (4u << 20)

/* Advice about memory that has not been written yet; nothing depends on it. */
static inline void large_pages_advise(void *bytes, size_t size)
{
	size_t start = ((size_t)bytes + LARGE_PAGE_BYTES - 1) & ~(size_t)(LARGE_PAGE_BYTES - 1);
	size_t end = ((size_t)bytes + size) & ~(size_t)(LARGE_PAGE_BYTES - 1);
	if (size >= LARGE_PAGES_LEAST && end > start)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/* As malloc(), and to be freed likewise. */
static inline void *large_pages_allocate(size_t size)
{
	if (size < LARGE_PAGES_LEAST)
		return malloc(size);
	size_t whole = (size + LARGE_PAGE_BYTES - 1) & ~(size_t)(LARGE_PAGE_BYTES - 1);
	void *bytes = whole < size ? NULL : aligned_alloc(LARGE_PAGE_BYTES, whole);
	if (bytes)
		large_pages_advise(bytes, whole);
	return bytes;
}
