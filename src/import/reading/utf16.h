/*
 * utf16 - text of 16-bit units, which some editors and shells of Windows write,
 * as UTF-8. What is no character becomes U+FFFD.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum utf16_order { UTF16_NONE, UTF16_LITTLE, UTF16_BIG };

/* By the mark at the start of a text, or where every other of its first bytes is zero and the
 * others are ASCII. */
enum utf16_order utf16_order_of(const void *bytes, size_t size);

struct utf16 {
	enum utf16_order order;
	/* private */
	uint16_t lead; /* a surrogate whose other half has not come, or 0 */
	uint8_t held;  /* first byte of a unit */
	bool holds;
};

#define UTF16_ROOM(size) (3 * ((size) / 2 + 2)) /* bytes that utf16_convert() may write */

/* Returns how many bytes it wrote. */
size_t utf16_convert(struct utf16 *text, const void *bytes, size_t size, uint8_t *out);
/* The end; false when it is inside a unit or a pair of them. */
bool utf16_ended(const struct utf16 *text);
