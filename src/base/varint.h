/*
 * varint - unsigned numbers in 7-bit groups, least significant first, the high
 * bit set on all but the last byte (LEB128); zigzag folds the sign into bit 0.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX_BYTES 10

/* Writes at most VARINT_MAX_BYTES bytes and returns how many. */
static inline size_t varint_put(uint8_t *out, uint64_t value)
{
	size_t size = 0;
	while (value >= 0x80) {
		out[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	out[size++] = (uint8_t)value;
	return size;
}

/* Bytes used, or 0 when `size` bytes hold no whole number or it does not fit 64 bits. */
static inline size_t varint_get(const uint8_t *in, size_t size, uint64_t *value)
{
	uint64_t result = 0;
	for (size_t i = 0; i < size && i < VARINT_MAX_BYTES; i++) {
		uint64_t group = in[i] & 0x7f;
		if (i == VARINT_MAX_BYTES - 1 && group > 1)
			return 0;
		result |= group << (7 * i);
		if (!(in[i] & 0x80)) {
			*value = result;
			return i + 1;
		}
	}
	return 0;
}

static inline uint64_t zigzag_put(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t zigzag_get(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
