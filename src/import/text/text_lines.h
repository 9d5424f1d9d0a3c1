/*
 * text_lines - the lines of a text that comes in pieces of any size. A line is
 * handed on without its newline, a carriage return before it and the mark that
 * UTF-8 text may begin with; it is borrowed for the call. One line in pieces
 * costs memory, the text does not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct error;

#define TEXT_LINES_MAX_BYTES (16u << 20) /* of one line */

/* Returns 0, or a negative errno that ends the reading and is returned. */
typedef int (*text_line)(void *context, struct span line, struct error *err);

struct text_lines {
	text_line take;
	void *context;
	bool tolerant;	 /* a line above the limit is handed on as data NULL, not refused */
	uint64_t number; /* of the line that is handed on, from 1 */
	bool unended;	 /* it is the last one, and no newline ends it */
	/* private */
	struct buffer pending;
	bool skipping; /* inside a line above the limit */
};

void text_lines_release(struct text_lines *lines); /* also right for a zeroed one */
/* Returns 0; what `take` returned; -EPROTO for a line above the limit; -ENOMEM. */
int text_lines_feed(struct text_lines *lines, const void *bytes, size_t size, struct error *err);
/* The end: a last line without newline is handed on. */
int text_lines_finish(struct text_lines *lines, struct error *err);

/*
 * Of a text that is all there: takes the next line off `rest`, without its newline and a carriage
 * return before it. False at the end.
 */
bool text_lines_cut(struct span *rest, struct span *line);

/* Whether it has nothing but blanks and tabs. */
bool text_line_is_blank(struct span line);
