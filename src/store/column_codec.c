#include "store/column_codec.h"

#include <stdbool.h>

#include "base/varint.h"

#define WIDE_MAX_BYTES 19 /* 128 bits in groups of 7 */

typedef unsigned __int128 wide;

static size_t varint_size(uint64_t value)
{
	size_t size = 1;
	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

static size_t wide_size(wide value)
{
	size_t size = 1;
	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

static void append_wide(struct buffer *out, wide value)
{
	uint8_t bytes[WIDE_MAX_BYTES];
	size_t size = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	buffer_append(out, bytes, size);
}

static wide take_wide(struct cursor *in)
{
	wide value = 0;
	for (size_t i = 0; i < WIDE_MAX_BYTES; i++) {
		uint8_t byte = cursor_u8(in);
		if (i == WIDE_MAX_BYTES - 1 && byte > 3)
			break;
		value |= (wide)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return value;
	}
	in->failed = true;
	return 0;
}

static wide wide_zigzag_put(wide value)
{
	return (value << 1) ^ (value >> 127 ? ~(wide)0 : 0);
}

static wide wide_zigzag_get(wide value)
{
	return (value >> 1) ^ (value & 1 ? ~(wide)0 : 0);
}

static uint64_t number(const struct column_rows *rows, size_t row, size_t slot)
{
	return rows->numbers[row * rows->stride + slot];
}

static wide wide_number(const struct column_rows *rows, size_t row, size_t slot)
{
	return ((wide)number(rows, row, slot + 1) << 64) | number(rows, row, slot);
}

/* What one sample weighs in the first row that has samples. */
static uint64_t typical_weight(const struct column_rows *rows, size_t slot, size_t factor)
{
	for (size_t row = 0; row < rows->count; row++)
		if (number(rows, row, factor))
			return number(rows, row, slot) / number(rows, row, factor);
	return 0;
}

/* The number that `encoding` writes for a row, all arithmetic modulo 2^64. */
static uint64_t written(const struct column_rows *rows, size_t row, size_t slot,
			enum column_encoding encoding, size_t factor, uint64_t weight)
{
	uint64_t value = number(rows, row, slot);
	if (encoding == ENCODE_DELTA)
		return zigzag_put((int64_t)(value - (row ? number(rows, row - 1, slot) : 0)));
	if (encoding == ENCODE_PRODUCT)
		return zigzag_put((int64_t)(value - number(rows, row, factor) * weight));
	return value;
}

static enum column_encoding choose(const struct column_rows *rows, size_t slot, size_t factor,
				   uint64_t weight)
{
	size_t sizes[] = { [ENCODE_CONSTANT] = SIZE_MAX,
			   [ENCODE_PLAIN] = 0,
			   [ENCODE_DELTA] = 0,
			   [ENCODE_PRODUCT] = factor == COLUMN_NO_SLOT ? SIZE_MAX : 11 };
	bool constant = true;
	for (size_t row = 0; row < rows->count; row++) {
		constant = constant && number(rows, row, slot) == number(rows, 0, slot);
		for (int i = ENCODE_PLAIN; i <= ENCODE_PRODUCT; i++)
			if (sizes[i] != SIZE_MAX)
				sizes[i] += varint_size(written(
					rows, row, slot, (enum column_encoding)i, factor, weight));
	}
	if (constant)
		return ENCODE_CONSTANT;
	enum column_encoding best = ENCODE_PLAIN;
	for (int i = ENCODE_DELTA; i <= ENCODE_PRODUCT; i++)
		if (sizes[i] < sizes[best])
			best = (enum column_encoding)i;
	return best;
}

void column_encode(const struct column_rows *rows, size_t slot, size_t factor, struct buffer *out)
{
	uint64_t weight = factor == COLUMN_NO_SLOT ? 0 : typical_weight(rows, slot, factor);
	enum column_encoding encoding = choose(rows, slot, factor, weight);
	buffer_append_u8(out, (uint8_t)encoding);
	if (encoding == ENCODE_CONSTANT) {
		buffer_append_varint(out, rows->count ? number(rows, 0, slot) : 0);
		return;
	}
	if (encoding == ENCODE_PRODUCT) {
		buffer_append_u8(out, (uint8_t)factor);
		buffer_append_varint(out, weight);
	}
	for (size_t row = 0; row < rows->count; row++)
		buffer_append_varint(out, written(rows, row, slot, encoding, factor, weight));
}

static wide quotient(const struct column_rows *rows, size_t row, size_t numerator,
		     size_t denominator)
{
	uint64_t a = number(rows, row, numerator);
	uint64_t b = number(rows, row, denominator);
	return b ? (wide)a * a / b : 0;
}

void column_encode_wide(const struct column_rows *rows, size_t slot, size_t numerator,
			size_t denominator, struct buffer *out)
{
	bool may_divide = numerator != COLUMN_NO_SLOT && denominator != COLUMN_NO_SLOT;
	bool constant = true;
	size_t plain = 0;
	size_t divided = 2;
	for (size_t row = 0; row < rows->count; row++) {
		wide value = wide_number(rows, row, slot);
		constant = constant && value == wide_number(rows, 0, slot);
		plain += wide_size(value);
		if (may_divide)
			divided += wide_size(wide_zigzag_put(
				value - quotient(rows, row, numerator, denominator)));
	}
	bool divide = may_divide && divided < plain;
	enum column_encoding encoding = constant ? ENCODE_CONSTANT
					: divide ? ENCODE_QUOTIENT
						 : ENCODE_PLAIN;
	buffer_append_u8(out, (uint8_t)encoding);
	if (constant) {
		append_wide(out, rows->count ? wide_number(rows, 0, slot) : 0);
		return;
	}
	if (divide) {
		buffer_append_u8(out, (uint8_t)numerator);
		buffer_append_u8(out, (uint8_t)denominator);
	}
	for (size_t row = 0; row < rows->count; row++) {
		wide value = wide_number(rows, row, slot);
		append_wide(out, divide ? wide_zigzag_put(value - quotient(rows, row, numerator,
									   denominator))
					: value);
	}
}

static const char *finish(const struct cursor *in)
{
	return in->failed ? "a column ends early" : NULL;
}

const char *column_decode(struct cursor *in, const struct column_rows *rows, size_t slot)
{
	uint8_t encoding = cursor_u8(in);
	uint64_t *out = rows->numbers + slot;
	uint64_t weight = 0;
	size_t factor = 0;
	uint64_t value = 0;
	switch (encoding) {
	case ENCODE_CONSTANT:
		value = cursor_varint(in);
		for (size_t row = 0; row < rows->count; row++)
			out[row * rows->stride] = value;
		return finish(in);
	case ENCODE_PRODUCT:
		factor = cursor_u8(in);
		if (factor >= slot)
			return "a column is derived from a later one";
		weight = cursor_varint(in);
		break;
	case ENCODE_PLAIN:
	case ENCODE_DELTA:
		break;
	default:
		return in->failed ? finish(in) : "a column has an unknown encoding";
	}
	if (rows->count > cursor_left(in))
		return "a column ends early";
	for (size_t row = 0; row < rows->count; row++) {
		uint64_t read = cursor_varint(in);
		if (encoding == ENCODE_PLAIN)
			value = read;
		else if (encoding == ENCODE_DELTA)
			value += (uint64_t)zigzag_get(read);
		else
			value = number(rows, row, factor) * weight + (uint64_t)zigzag_get(read);
		out[row * rows->stride] = value;
	}
	return finish(in);
}

const char *column_decode_wide(struct cursor *in, const struct column_rows *rows, size_t slot)
{
	uint8_t encoding = cursor_u8(in);
	size_t numerator = 0;
	size_t denominator = 0;
	wide value = 0;
	switch (encoding) {
	case ENCODE_CONSTANT:
		value = take_wide(in);
		break;
	case ENCODE_PLAIN:
		break;
	case ENCODE_QUOTIENT:
		numerator = cursor_u8(in);
		denominator = cursor_u8(in);
		if (numerator >= slot || denominator >= slot)
			return "a column is derived from a later one";
		break;
	default:
		return in->failed ? finish(in) : "a column has an unknown encoding";
	}
	if (encoding != ENCODE_CONSTANT && rows->count > cursor_left(in))
		return "a column ends early";
	for (size_t row = 0; row < rows->count; row++) {
		if (encoding == ENCODE_PLAIN)
			value = take_wide(in);
		else if (encoding == ENCODE_QUOTIENT)
			value = quotient(rows, row, numerator, denominator) +
				wide_zigzag_get(take_wide(in));
		rows->numbers[row * rows->stride + slot] = (uint64_t)value;
		rows->numbers[row * rows->stride + slot + 1] = (uint64_t)(value >> 64);
	}
	return finish(in);
}
