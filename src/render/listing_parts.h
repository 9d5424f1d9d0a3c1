/*
 * listing_parts - what the ways to show a procedure share: its head, rows and source
 * texts (listing.c, listing_head.c, listing_lines.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "render/listing.h"
#include "render/listing_figures.h"

struct buffer;

struct listing {
	const struct annotation *annotation;
	const struct annotate_index *index;
	const struct listing_options *options;
	struct figures figures;
	int address_width, bytes_width;
	uint32_t source;  /* of the row before */
	const char *file; /* that was named last, in full */
	struct buffer *out;
};

/* Measures the columns and prints the head; false (and the buffer failed) without memory. */
bool listing_begin(struct listing *listing);
void listing_end(struct listing *listing);
/* Whose code it is, how many samples of which events it has, and what is missing. */
void listing_print_head(const struct listing *listing);
/* Text of a source line, tabs as far as they mean to go. */
void listing_print_source_text(const struct listing *listing, const char *file, uint32_t line);
void listing_put_name(struct buffer *out, const char *name);
/* Long names of inlined functions and of targets are folded; --json has them whole. */
void listing_put_folded(struct buffer *out, const char *name);
/* Ends a line without blanks before its end. */
void listing_end_line(struct buffer *out);
