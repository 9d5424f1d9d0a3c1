/*
 * listing - annotations as text: a procedure's instructions with their samples,
 * source lines between them; or its source lines with their sums.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/annotate.h"
#include "base/span.h"
#include "render/text_table.h"

struct buffer;

/* Text of a line of a source file, without its newline; data NULL when it can't be had. */
typedef struct span (*listing_source)(void *context, const char *file, uint32_t line);

#define LISTING_HOT_PERCENT 5 /* rows of at least that share of the procedure are marked */

struct listing_options {
	bool bytes;	    /* the instructions' bytes too */
	double min_percent; /* stretches of rows below are summed up in one line; 0: none */
	enum text_colour colour;
	listing_source source; /* NULL: no source text */
	void *source_context;
};

/* Failure to allocate shows in the buffer, as usual there. */
void listing_print(const struct annotation *annotation, const struct annotate_index *index,
		   const struct listing_options *options, struct buffer *out);
/* By source line instead of by instruction. */
void listing_print_lines(const struct annotation *annotation, const struct annotate_index *index,
			 const struct listing_options *options, struct buffer *out);
/* A row's instruction as a listing has it, with what a branch goes to, cut to a line's length. */
void listing_put_code(const struct annotated_row *row, struct buffer *out);
