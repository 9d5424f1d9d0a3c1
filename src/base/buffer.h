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
/* Nothing in it any more, for its next use: its room stays, but nobody may look at what was there.
 * A failure stays too. */
static inline void buffer_empty(struct buffer *buffer)
{
	const bool failed = buffer->failed;
	if (GROWTH_IS_WATCHED)
		buffer_release(buffer);
	buffer->size = 0;
	buffer->failed = failed;
}
/* Room for `size` more bytes at the end, or NULL. The bytes count at once. */
void *buffer_extend(struct buffer *buffer, size_t size);
void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_u8(struct buffer *buffer, uint8_t value);
void buffer_append_u32(struct buffer *buffer, uint32_t value); /* little-endian */
void buffer_append_u64(struct buffer *buffer, uint64_t value); /* little-endian */
void buffer_append_varint(struct buffer *buffer, uint64_t value);
void buffer_append_text(struct buffer *buffer, const char *text); /* without its final NUL */
/* Its decimal digits; for what is written ten thousands of times, faster than printf. */
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
