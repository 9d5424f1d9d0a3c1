/*
 * visible_text - the names that programs, files and recordings choose, as people
 * may see them: nothing in them steers a terminal, ends a line, hides, changes the
 * direction of reading or piles up over other text. What would is written as the
 * bytes it is made of, \xNN each, so that every name stays a name and two that
 * differ look different.
 *
 * That is: control characters (of C0, DEL, C1), what Unicode calls format
 * characters, separators of lines and paragraphs, what is drawn as nothing, what is
 * no character or no UTF-8; and marks drawn over the character before: of one
 * character more than VISIBLE_MARKS, or at the start of a text, where they would
 * be drawn over what is not the name's.
 *
 * Safe text stays as it is when it is made safe again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/character_kind.h"

struct buffer;

/* Languages need two or three (Vietnamese, Hebrew, Thai). */
#define VISIBLE_MARKS 4

enum character_kind character_kind(uint32_t character);

/* The state of going through a text piece by piece. */
struct visible_text {
	const uint8_t *at, *end;
	unsigned marks; /* that the character before may still have */
};

static inline struct visible_text visible_text_of(const void *text, size_t size)
{
	const uint8_t *bytes = text;
	return (struct visible_text){ bytes, bytes + size, 0 };
}
/*
 * What comes next of a text that is not at its end: bytes that can be shown as they
 * are, at least one character of them, or (*shown false) those of which each is to be
 * written \xNN. Returns how many; they end at text->at.
 */
size_t visible_text_next(struct visible_text *text, bool *shown);

/* \xNN for each of the bytes. */
void text_append_codes(struct buffer *out, const uint8_t *bytes, size_t size);
/* Appends `size` bytes as people may see them. */
void text_append_safe(struct buffer *out, const char *text, size_t size);
/* Columns that a safe text takes on a terminal. */
size_t text_width(const char *text);
