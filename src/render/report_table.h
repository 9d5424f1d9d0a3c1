/*
 * report_table - the rows of a report as a table of text, below a row of heads. Same report, same
 * bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include <stdbool.h>

#include "render/text_table.h"

struct buffer;
struct report;

enum report_table_look {
	REPORT_TABLE_WHOLE, /* all figures, and below the rows what was left out of them */
	REPORT_TABLE_LIVE,  /* shares alone, one line a row: for a screen that changes */
};

struct report_table_options {
	enum text_colour colour;
	bool full_names; /* else long ones are folded where no two rows would look the same */
	enum report_table_look look;
};

void report_table(const struct report *report, const struct report_table_options *options,
		  struct buffer *out);
