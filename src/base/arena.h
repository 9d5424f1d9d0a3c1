/*
 * arena - many small allocations that are freed together. A zeroed one is empty.
 */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
};

/* `size` bytes, zeroed and aligned for any type, or NULL when out of memory. */
void *arena_allocate(struct arena *arena, size_t size);
/* A NUL-terminated copy of `size` bytes, or NULL. */
char *arena_copy_text(struct arena *arena, const char *text, size_t size);
__attribute__((format(printf, 2, 3))) char *arena_printf(struct arena *arena, const char *format,
							 ...);
void arena_release(struct arena *arena); /* also right for a zeroed one, and for CLEANUP() */
