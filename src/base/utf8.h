/*
 * utf8 - which bytes are UTF-8 as RFC 3629 has it: no longer than needed, no
 * surrogates, nothing above U+10FFFF. And how a character is written so.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_MAX_BYTES	 4
#define UTF8_REPLACEMENT 0xfffdu /* the character for what is none */

/* Writes a character, at most U+10FFFF. Returns how many bytes. */
static inline size_t utf8_put(uint8_t out[UTF8_MAX_BYTES], uint32_t character)
{
	size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = size - 1; i > 0; i--, character >>= 6)
		out[i] = (uint8_t)(0x80 | (character & 0x3f));
	out[0] = (uint8_t)(first[size] | character);
	return size;
}

/* Bytes of the mark that a text may begin with (U+FEFF), or 0. */
static inline size_t utf8_mark_size(const void *text, size_t size)
{
	return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

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

/* The character of a sequence of `size` bytes that utf8_sequence() measured. */
static inline uint32_t utf8_character(const uint8_t *text, size_t size)
{
	static const uint8_t first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t character = text[0] & first[size];
	for (size_t i = 1; i < size; i++)
		character = character << 6 | (text[i] & 0x3f);
	return character;
}
