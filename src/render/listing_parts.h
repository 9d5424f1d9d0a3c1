/*
 * listing_parts - what the ways to show a procedure share: its head, rows and source
 * texts (listing.c, listing_head.c, listing_foot.c, listing_lines.c, listing_screen.c,
 * listing_blocks.c). Running out of memory shows in the buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/listing.h"
#include "render/listing_cycles.h"
#include "render/listing_figures.h"

struct buffer;

struct listing {
	const struct listing_subject *subject;
	const struct annotation *annotation;
	const struct annotate_index *index;
	const struct listing_options *options;
	struct figures figures;
	struct cycle_columns cycles;
	bool letters[CYCLE_LETTERS]; /* by letter of a cause: it was printed */
	int address_width, bytes_width;
	uint32_t source;  /* of the row before */
	uint32_t block;	  /* likewise, or CFG_NO_BLOCK */
	const char *file; /* that was named last, in full */
	struct buffer *out;
};

/* Measures the columns and prints the head; false (and the buffer failed) without memory. */
bool listing_begin(struct listing *listing, const struct listing_subject *subject,
		   const struct annotate_index *index, const struct listing_options *options,
		   struct buffer *out);
/* Prints the remarks and releases the rest. */
void listing_end(struct listing *listing);
void listing_print_columns_head(const struct listing *listing);
/* Prints a row: above it what it stalls for, and its source line when the row before has another.
 */
void listing_print_row(struct listing *listing, const struct annotated_row *row);
/* The line about a block, when the instruction is its first and it matters. */
void listing_print_block(const struct listing *listing, uint32_t instruction);
/* To be called where the next row does not follow the one before: its block and source line are
 * printed again. */
void listing_forget(struct listing *listing);
/* Whose code it is, how many samples of which events it has, and what is missing. */
void listing_print_head(const struct listing *listing);
/* Below its rows: what is missing of its executions and how sure they are. */
void listing_print_remarks(const struct listing *listing);
/* Text of a source line, with tab stops every 4 columns. */
void listing_print_source_text(const struct listing *listing, const char *file, uint32_t line);
void listing_put_name(struct buffer *out, const char *name);
/* "a.c:12", "a.c (no line)" of what the compiler made by itself; the file may be NULL. */
void listing_put_place(struct buffer *out, const char *file, uint32_t line);
/* Long names of inlined functions and of targets are folded; --json has them whole. */
void listing_put_folded(struct buffer *out, const char *name);
/* Ends a line, without the blanks at its end. */
void listing_end_line(struct buffer *out);
