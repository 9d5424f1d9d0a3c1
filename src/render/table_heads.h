/*
 * table_heads - the head row of a text_table while its columns are chosen: what each column is
 * called and how it is aligned.
 */
#pragma once

#include <stddef.h>

#include "render/quantity.h"
#include "render/text_table.h"

#define TABLE_HEADS_MAX 128 /* no report has as many columns; more would be left out */

struct table_heads {
	enum text_align align[TABLE_HEADS_MAX];
	char text[TABLE_HEADS_MAX][QUANTITY_SIZE];
	size_t count;
};

/* One more column; its text is cut to QUANTITY_SIZE - 1 bytes. */
__attribute__((format(printf, 3, 4))) void
table_heads_add(struct table_heads *heads, enum text_align align, const char *format, ...);
/* Makes a table of these columns, which has the head as its first row. */
void table_heads_begin(const struct table_heads *heads, struct text_table *table);
