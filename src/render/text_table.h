/*
 * text_table - rows of cells, aligned. The last column is not padded. Texts are
 * made safe (base/visible_text.h), so that a process called after an escape sequence
 * stays a name.
 *
 * Failure to allocate shows in the buffer that is printed to, as usual there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/visible_text.h"

enum text_style { TEXT_PLAIN, TEXT_DIM, TEXT_BOLD };
/* TEXT_NARROW: left, and texts longer than TEXT_NARROW_WIDTH take room from what follows in their
 * row. */
enum text_align { TEXT_LEFT, TEXT_RIGHT, TEXT_NARROW };
#define TEXT_NARROW_WIDTH 22

enum text_colour { TEXT_WITHOUT_COLOUR, TEXT_WITH_COLOUR };

struct text_cell {
	const char *text;
	enum text_style style;
};

struct text_table {
	size_t columns;
	enum text_align *align;
	struct text_cell *cells; /* row by row */
	size_t count, capacity;	 /* of cells */
	bool failed;		 /* out of memory: nothing more is added */
	struct arena arena;
	struct buffer raw, safe; /* reused by every cell */
};

/* `align` has `columns` entries and is copied. */
void text_table_init(struct text_table *table, const enum text_align *align, size_t columns);
void text_table_release(struct text_table *table);
/* The next cell of the current row. */
__attribute__((format(printf, 3, 4))) void
text_table_add(struct text_table *table, enum text_style style, const char *format, ...);
void text_table_print(const struct text_table *table, enum text_colour colour, struct buffer *out);

void text_append_style(struct buffer *out, enum text_colour colour, enum text_style style);
/* Bytes of what text_append_style() wrote, if `text` begins with it, else 0. */
size_t text_style_size(const char *text, size_t left);
