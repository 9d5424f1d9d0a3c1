/*
 * utf8 - which bytes are UTF-8 as RFC 3629 has it: no longer than needed, no
 * surrogates, nothing above U+10FFFF.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the sequence at `text`, of which `left` > 0 bytes are there; 0 when it is none. */
static inline size_t utf8_sequence(const uint8_t *text, size_t left)
{
	uint8_t c = text[0];
	size_t size = c < 0x80		      ? 1
		      : c >= 0xc2 && c < 0xe0 ? 2
		      : (c & 0xf0) == 0xe0    ? 3
		      : c >= 0xf0 && c < 0xf5 ? 4
					      : 0;
	if (size > left)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if (size == 3 && ((c == 0xe0 && text[1] < 0xa0) || (c == 0xed && text[1] >= 0xa0)))
		return 0; /* too long, or a surrogate */
	if (size == 4 && ((c == 0xf0 && text[1] < 0x90) || (c == 0xf4 && text[1] >= 0x90)))
		return 0;
	return size;
}
