/*
 * text_wrap - sentences on lines of a page's width, broken between words only: what is longer than
 * a line stays whole, so that it can be copied.
 *
 * Failure to allocate shows in the buffer that is printed to, as usual there.
 */
#pragma once

#include <stddef.h>

struct buffer;

#define TEXT_WRAP_COLUMNS 100 /* of a line, indent and all, but for a longer word; each a byte */

/*
 * Appends the words of `text` with one space between, and a newline. The first line is `indent`
 * columns long already; further ones begin with as many spaces.
 */
void text_append_wrapped(size_t indent, const char *text, struct buffer *out);
