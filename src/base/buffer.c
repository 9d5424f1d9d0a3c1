#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/varint.h"

void buffer_release(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

static bool reserve(struct buffer *buffer, size_t more)
{
	size_t needed;
	if (buffer->failed)
		return false;
	if (__builtin_add_overflow(buffer->size, more, &needed)) {
		buffer->failed = true;
		return false;
	}
	if (needed <= buffer->capacity)
		return true;
	size_t capacity = growth_capacity(buffer->capacity, needed, 64, 1);
	if (!capacity)
		capacity = needed;
	void *data = realloc(buffer->data, capacity);
	if (!data) {
		buffer->failed = true;
		return false;
	}
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
}

void *buffer_extend(struct buffer *buffer, size_t size)
{
	if (!reserve(buffer, size))
		return NULL;
	void *room = buffer->data + buffer->size;
	buffer->size += size;
	return room;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	if (size == 0)
		return;
	void *room = buffer_extend(buffer, size);
	if (room)
		memcpy(room, data, size);
}

void buffer_append_u8(struct buffer *buffer, uint8_t value)
{
	buffer_append(buffer, &value, sizeof(value));
}

void buffer_append_u32(struct buffer *buffer, uint32_t value)
{
	buffer_append(buffer, &value, sizeof(value));
}

void buffer_append_u64(struct buffer *buffer, uint64_t value)
{
	buffer_append(buffer, &value, sizeof(value));
}

void buffer_append_varint(struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[VARINT_MAX_BYTES];
	buffer_append(buffer, bytes, varint_put(bytes, value));
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_append_decimal(struct buffer *buffer, uint64_t value)
{
	char digits[20]; /* of UINT64_MAX */
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buffer_append(buffer, digits + at, sizeof(digits) - at);
}

void buffer_append_hex(struct buffer *buffer, const void *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	if (size == 0)
		return;
	const uint8_t *from = bytes;
	char *to = size <= SIZE_MAX / 2 ? buffer_extend(buffer, 2 * size) : NULL;
	if (!to) {
		buffer->failed = true;
		return;
	}
	for (size_t i = 0; i < size; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 15];
	}
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0 || !reserve(buffer, (size_t)length + 1)) {
		buffer->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf((char *)buffer->data + buffer->size, (size_t)length + 1, format, args);
	va_end(args);
	buffer->size += (size_t)length;
}

const char *buffer_text(struct buffer *buffer)
{
	if (!reserve(buffer, 1))
		return "";
	buffer->data[buffer->size] = 0;
	return (const char *)buffer->data;
}
