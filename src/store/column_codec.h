/*
 * column_codec - the numbers of one column in as few bytes as possible, before
 * zstd sees them. Each column picks the cheapest of a few encodings; the byte
 * in front says which (docs/profile-format.md). Without run lengths: zstd makes
 * runs of zero bytes cheap, and so a column of n rows holds at least n bytes
 * unless it is constant.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"

/* The numbers are those of the file: only ever add. */
enum column_encoding {
	ENCODE_CONSTANT = 0, /* one varint, the value of every row */
	ENCODE_PLAIN = 1,    /* a varint a row */
	ENCODE_DELTA =
		2, /* the zigzag varint of the difference from the row before, the first from 0 */
	ENCODE_PRODUCT = 3,  /* slot byte, varint weight; zigzag varint of value - slot * weight */
	ENCODE_QUOTIENT = 4, /* 128 bits: slot bytes a, b; zigzag varint of value - a * a / b (0
				when b is 0) */
};

#define COLUMN_NO_SLOT SIZE_MAX

/* One slot of every row; slot s of row r is numbers[r * stride + s]. */
struct column_rows {
	uint64_t *numbers;
	size_t stride;
	size_t count;
};

/* `factor`: a slot that this one may be a multiple of, or COLUMN_NO_SLOT. Failure shows in
 * buffer_failed(). */
void column_encode(const struct column_rows *rows, size_t slot, size_t factor, struct buffer *out);
/* Slots `slot` (low half) and `slot + 1`. The value may be near numerator^2 / denominator. */
void column_encode_wide(const struct column_rows *rows, size_t slot, size_t numerator,
			size_t denominator, struct buffer *out);

/*
 * Fill the slots of all rows. Slots below `slot` are decoded already: only those
 * may be referred to. Return NULL, or what is wrong with the bytes.
 */
const char *column_decode(struct cursor *in, const struct column_rows *rows, size_t slot);
const char *column_decode_wide(struct cursor *in, const struct column_rows *rows, size_t slot);
