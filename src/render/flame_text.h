/*
 * flame_text - what the writers of flame graphs put into their pages ten
 * thousands of times: numbers and escaped names, faster than printf.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

/* 12345 as "12 345". */
static inline void flame_put_count(struct buffer *out, uint64_t value)
{
	char digits[27];
	size_t at = sizeof(digits);
	int written = 0;
	do {
		if (written && written % 3 == 0)
			digits[--at] = ' ';
		digits[--at] = (char)('0' + value % 10);
		written++;
		value /= 10;
	} while (value);
	buffer_append(out, digits + at, sizeof(digits) - at);
}

/* `value` >= 0, below 2^53, with up to `decimals` (at most 6) digits after the point, without
 * needless zeros. */
static inline void flame_put_fixed(struct buffer *out, double value, int decimals)
{
	static const uint64_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };
	uint64_t scale = powers[decimals];
	uint64_t whole = (uint64_t)llround(value * (double)scale);
	uint64_t fraction = whole % scale;
	buffer_append_decimal(out, whole / scale);
	if (fraction == 0)
		return;
	char digits[7] = ".";
	int size = decimals;
	for (int i = decimals; i > 0; i--) {
		digits[i] = (char)('0' + fraction % 10);
		fraction /= 10;
	}
	while (digits[size] == '0')
		size--;
	buffer_append(out, digits, (size_t)size + 1);
}

static inline void flame_put_px(struct buffer *out, double value)
{
	if (value < 0) {
		buffer_append_u8(out, '-');
		value = -value;
	}
	flame_put_fixed(out, value, 3);
}

/* Any number with four significant digits, as JSON has it. */
void flame_put_number(struct buffer *out, double value);
/* An event count in steps of 10^-scale, grouped: "1 234.5". */
void flame_put_estimate(struct buffer *out, uint64_t estimate, uint64_t scale);
/* "12.34 %", "<0.01 %". */
void flame_put_percent(struct buffer *out, double part, double whole);

/* Escapes a text for XML text and attributes; what cannot be shown is as base/visible_text.h has
 * it.
 */
void flame_put_escaped(struct buffer *out, const char *text, size_t size);
/* Bytes of the longest start of a UTF-8 text that is not wider than `px` as a label. */
size_t flame_text_fit(const char *text, size_t size, double px);
/* Characters of a UTF-8 text. */
size_t flame_text_length(const char *text, size_t size);
