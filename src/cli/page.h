/*
 * page - what verbs print on stdout, all of it (files and exports go through
 * output_file). Names in it are strangers' (base/visible_text.h): none steers a
 * terminal, ends a line or hides, whether stdout is a terminal, a pager or a log.
 */
#pragma once

struct buffer;

enum page_kind {
	PAGE_TEXT, /* for people; newlines and text_append_style()'s colours are the page's own */
	PAGE_JSON, /* as base/json_stream.h writes it */
};

/* Of a text that a renderer made safe everything stays; the last guard where one forgot. Returns 0,
 * or 1 after a message. */
int page_write(const struct buffer *page, enum page_kind kind);
/* One line, whose end is added; a newline in its arguments shows as \x0a. */
__attribute__((format(printf, 1, 2))) void page_line(const char *format, ...);
