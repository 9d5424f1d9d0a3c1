/*
 * column_codec - the numbers of one column in as few bytes as possible, before
 * zstd sees them. Each column picks the cheapest of a few encodings; the byte
 * in front says which (docs/profile-format.md). Without run lengths: zstd makes
 * runs of zero bytes cheap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"

/* The numbers are those of the file: only ever add. What stands before ";" are parameters. */
enum column_encoding {
	ENCODE_CONSTANT = 0, /* one varint, the value of every row */
	ENCODE_PLAIN = 1,    /* a varint a row */
	ENCODE_DELTA = 2, /* zigzag varints of differences from the row before, the first from 0 */
	ENCODE_PRODUCT =
		3, /* slot byte s, varints g and w; zigzag varint z of value = (s * w + z) * g */
	ENCODE_SPREAD = 4, /* 128 bits: slot bytes a and b, flags, varints g and v; zigzag varints z
			      of value = (p + z) * g^2, where p = (a / g)^2 / b + (b - 1) * v, 0
			      where b is 0 */
	ENCODE_RISING = 5, /* varints of the differences modulo 2^64 */
};

/* Of ENCODE_SPREAD. */
enum spread_flags {
	SPREAD_SINGLES = 1, /* rows where b is 1 have no number: theirs is 0 */
	SPREAD_PARITY = 2,  /* bit 0 of p is made that of a / g, and z / 2 is written: integers and
			       their squares have sums of one parity */
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
/* Slots `slot` (low half) and `slot + 1`. The value may be a sum of squares of `denominator`
 * numbers whose sum is the numerator. */
void column_encode_wide(const struct column_rows *rows, size_t slot, size_t numerator,
			size_t denominator, struct buffer *out);

/*
 * Fill the slots of all rows. Slots below `slot` are decoded already: only those
 * may be referred to. Return NULL, or what is wrong with the bytes.
 */
const char *column_decode(struct cursor *in, const struct column_rows *rows, size_t slot);
const char *column_decode_wide(struct cursor *in, const struct column_rows *rows, size_t slot);
