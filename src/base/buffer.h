/*
 * buffer - bytes that grow. After the first failed growth every later append
 * does nothing, so a writer checks buffer_failed() once, at its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed; /* out of memory: the content is incomplete */
};

void buffer_release(struct buffer *buffer); /* also right for a zeroed one, and for CLEANUP() */
/* Empties it for its next use. Its memory stays allocated, but what was in it must not be read any
 * more. A failure stays too. */
static inline void buffer_empty(struct buffer *buffer)
{
	const bool failed = buffer->failed;
	if (GROWTH_IS_WATCHED)
		buffer_release(buffer);
	buffer->size = 0;
	buffer->failed = failed;
}
/* Room for `size` more bytes at the end, for the caller to fill, or NULL. They count in
 * buffer->size at once. */
void *buffer_extend(struct buffer *buffer, size_t size);
void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_u8(struct buffer *buffer, uint8_t value);
void buffer_append_u32(struct buffer *buffer, uint32_t value); /* little-endian */
void buffer_append_u64(struct buffer *buffer, uint64_t value); /* little-endian */
void buffer_append_varint(struct buffer *buffer, uint64_t value);
void buffer_append_text(struct buffer *buffer, const char *text); /* without its final NUL */
/* The decimal digits of `value`: faster than buffer_printf(). */
void buffer_append_decimal(struct buffer *buffer, uint64_t value);
/* Two lower-case digits a byte. */
void buffer_append_hex(struct buffer *buffer, const void *bytes, size_t size);
__attribute__((format(printf, 2, 3))) void buffer_printf(struct buffer *buffer, const char *format,
							 ...);
/* A NUL after the content that does not count in size; "" when out of memory. */
const char *buffer_text(struct buffer *buffer);
static inline bool buffer_failed(const struct buffer *buffer)
{
	return buffer->failed;
}
