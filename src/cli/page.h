/*
 * page - prints what verbs write to stdout, or beside it (files and exports go through
 * output_file). Names in it are strangers' (base/visible_text.h): none steers a
 * terminal, ends a line or hides, whether stdout is a terminal, a pager or a log.
 */
#pragma once

struct buffer;

enum page_kind {
	PAGE_TEXT,   /* for people; newlines and text_append_style()'s colours are the page's own */
	PAGE_FIELDS, /* as text, where tabs may be between fields; none is in one (base/csv_cell.h)
		      */
	PAGE_JSON,   /* as base/json_stream.h writes it */
};

/* Makes the text safe as a last guard: one that a renderer made safe already stays as it is.
 * Returns 0, or 1 after a message. */
int page_write(const struct buffer *page, enum page_kind kind);
/* The same, through the pager where that is a terminal. A page that lacks memory is a failure, too.
 */
int page_show(const struct buffer *page, enum page_kind kind);
/* As page_write(), on stderr, of a verb whose stdout is a command's. */
int page_write_beside(const struct buffer *page, enum page_kind kind);
/* Prints one line and its end; a newline in its arguments is printed as \x0a. */
__attribute__((format(printf, 1, 2))) void page_line(const char *format, ...);
