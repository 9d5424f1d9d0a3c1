/*
 * report_text - a report as a page of text: scope above, rows, bill below.
 * Same report, same bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include "render/text_table.h"

struct buffer;
struct report;

struct report_text_options {
	enum text_colour colour;
	const char *title; /* what was read: "culprit.prof"; NULL: no line about it */
};

void report_text(const struct report *report, const struct report_text_options *options,
		 struct buffer *out);
