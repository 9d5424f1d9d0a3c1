/*
 * report_text - a report as a page of text: scope above, rows, bill below.
 * Same report, same bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include <stdbool.h>

#include "render/text_table.h"

struct buffer;
struct report;

struct report_text_options {
	enum text_colour colour;
	const char *title; /* what was read: "culprit.prof"; NULL: no line about it */
	bool full_names;   /* else long ones are folded where no two rows would look the same */
};

void report_text(const struct report *report, const struct report_text_options *options,
		 struct buffer *out);
