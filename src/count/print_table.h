/*
 * print_table - rows of named columns as aligned text or as CSV, for culprit/print.h. Names are the
 * program's own or a user's, so that in text nothing in them steers a terminal
 * (base/visible_text.h); in CSV (RFC 4180) they are as they are, in quotes where they have to be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "culprit/print.h"

#define PRINT_COLUMNS 24

struct print_column {
	const char *name;
	bool right; /* aligned */
};

struct print_table {
	const struct print_column *columns;
	size_t column_count;
	size_t cells;	     /* written; the next one is of column cells % column_count */
	struct buffer texts; /* of all cells, each with its final NUL */
};

/* The heads of columns are written as the first row. */
void print_table_begin(struct print_table *table, const struct print_column *columns, size_t count);
void print_table_text(struct print_table *table, const char *text);	 /* NULL: not known */
void print_table_number(struct print_table *table, double number);	 /* NAN: not known */
void print_table_short_number(struct print_table *table, double number); /* four digits */
void print_table_count(struct print_table *table, uint64_t count);
/* "1 .. 2", or "exact" */
void print_table_interval(struct print_table *table, double low, double high);
void print_table_flags(struct print_table *table, uint32_t flags);
void print_table_format(struct print_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Appends the rows to *out, and releases the table. What is not known is `-` in text and empty in
 * CSV; a column of which text knows nothing in any row is left out there. Running out of memory
 * shows in *out. */
void print_table_end(struct print_table *table, enum culprit_print_format format,
		     struct buffer *out);

/* Up to 15 digits, so that a count is whole; "-" when it is not finite. */
#define PRINT_NUMBER 32
void print_number(double number, char text[PRINT_NUMBER]);
/* Four digits, or all of those before the point. */
void print_short_number(double number, char text[PRINT_NUMBER]);

/* One of enum culprit_value_flags in words: the `index`-th of them; NULL behind the last. */
const char *print_flag(size_t index, uint32_t *flag);
/* Those that are set, separated by commas, and `why` behind them; "" without any. */
void print_flags(uint32_t flags, const char *why, struct buffer *out);

/* Takes the "; " off that nothing came behind. */
void print_trim(struct buffer *note);

/* Writes what is in *out to the stream. 0; -EIO; -ENOMEM when it is incomplete. */
int print_write(struct buffer *out, FILE *stream);
