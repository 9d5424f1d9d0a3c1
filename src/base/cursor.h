/*
 * cursor - reads borrowed bytes front to back. A read that would pass the end
 * returns zero and marks the cursor failed; the caller checks once, after a
 * group of reads. Sizes are compared by subtraction, so no sum can wrap.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"
#include "base/varint.h"

struct cursor {
	const uint8_t *start;
	size_t size;
	size_t at; /* never above size */
	bool failed;
};

static inline struct cursor cursor_of(const void *data, size_t size)
{
	return (struct cursor){ data, size, 0, false };
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return cursor->failed ? 0 : cursor->size - cursor->at;
}

/* `size` bytes, borrowed, or NULL with the cursor failed. */
static inline const void *cursor_take(struct cursor *cursor, size_t size)
{
	if (cursor->failed || size > cursor->size - cursor->at) {
		cursor->failed = true;
		return NULL;
	}
	const void *bytes = cursor->start + cursor->at;
	cursor->at += size;
	return bytes;
}

static inline uint64_t cursor_little_endian(struct cursor *cursor, size_t size)
{
	uint64_t value = 0;
	const void *bytes = cursor_take(cursor, size);
	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	return (uint8_t)cursor_little_endian(cursor, 1);
}

static inline uint16_t cursor_u16(struct cursor *cursor)
{
	return (uint16_t)cursor_little_endian(cursor, 2);
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	return (uint32_t)cursor_little_endian(cursor, 4);
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
	return cursor_little_endian(cursor, 8);
}

/* As cursor_u32() and cursor_u64(), of bytes in the other order where `swap` says so. */
static inline uint32_t cursor_u32_swapped(struct cursor *cursor, bool swap)
{
	uint32_t value = cursor_u32(cursor);
	return swap ? __builtin_bswap32(value) : value;
}

static inline uint64_t cursor_u64_swapped(struct cursor *cursor, bool swap)
{
	uint64_t value = cursor_u64(cursor);
	return swap ? __builtin_bswap64(value) : value;
}

static inline uint64_t cursor_varint(struct cursor *cursor)
{
	uint64_t value = 0;
	if (cursor->failed)
		return 0;
	size_t used = varint_get(cursor->start + cursor->at, cursor->size - cursor->at, &value);
	if (!used) {
		cursor->failed = true;
		return 0;
	}
	cursor->at += used;
	return value;
}

/* The bytes up to a NUL, which is skipped and does not count. */
static inline struct span cursor_text(struct cursor *cursor)
{
	size_t left = cursor_left(cursor);
	const uint8_t *text = left ? cursor->start + cursor->at : NULL;
	const uint8_t *end = left ? memchr(text, 0, left) : NULL;
	if (!end) {
		cursor->failed = true;
		return (struct span){ NULL, 0 };
	}
	cursor->at += (size_t)(end - text) + 1;
	return (struct span){ text, (size_t)(end - text) };
}
