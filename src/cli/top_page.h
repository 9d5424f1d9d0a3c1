/*
 * top_page - what top shows of a profile: the lines above the table, the table, and what its rows
 * are about.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/buffer.h"
#include "render/text_table.h"

struct error;
struct profile;

struct top_view {
	enum report_part parts[REPORT_PARTS]; /* what a row is */
	size_t part_count;
	const char *sort;   /* "name", "cpi"; NULL: by time */
	const char *search; /* only rows that hold this text; "": all */
	const char *source; /* as in struct live_text_options */
	const char *state;  /* likewise */
	uint64_t ns;	    /* likewise */
	size_t most;	    /* rows; others are left out */
	bool full_names;
	enum text_colour colour;
};

/* What a row is about, in words that the next page's rows have too. */
struct top_row {
	char *name; /* of the procedure, or whatever else it is */
	char *image;
	uint32_t image_id; /* in the profile; 0: it has none */
	uint64_t first;	   /* where the procedure starts; 0: not known */
	bool is_code;	   /* it is a procedure */
};

struct top_page {
	struct buffer above, table; /* lines; the table's head comes first */
	size_t heads;		    /* lines of the table before the first row */
	struct top_row *rows;
	size_t count;
};

/* Fills *page, which the caller releases, with `profile` as `view` has it. 0, or a negative errno
 * value with *err. */
int top_page_make(const struct profile *profile, const struct top_view *view, struct top_page *page,
		  struct error *err);
void top_page_release(struct top_page *page); /* also right for a zeroed one */
/* The number of the row that is about the same; page->count: there is none. */
size_t top_page_find(const struct top_page *page, const struct top_row *row);
