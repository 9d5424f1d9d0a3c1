#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_BLOCK_BYTES 65536

struct arena_block {
	struct arena_block *next;
	size_t used;
	size_t size;
	alignas(max_align_t) uint8_t bytes[];
};

void *arena_allocate(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct arena_block *block = arena->blocks;
	if (!block || size > block->size - block->used) {
		size_t room = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		block = malloc(sizeof(*block) + room);
		if (!block)
			return NULL;
		block->used = 0;
		block->size = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	void *memory = block->bytes + block->used;
	block->used += size;
	return memset(memory, 0, size);
}

char *arena_copy_text(struct arena *arena, const char *text, size_t size)
{
	char *copy = size < SIZE_MAX ? arena_allocate(arena, size + 1) : NULL;
	if (copy && size)
		memcpy(copy, text, size);
	return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = length < 0 ? NULL : arena_allocate(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}

void arena_release(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}
