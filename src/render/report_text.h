/*
 * report_text - a report as a page of text: scope above, rows, bill below.
 * Same report, same bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include "render/report_text_options.h"

struct buffer;
struct report;

void report_text(const struct report *report, const struct report_text_options *options,
		 struct buffer *out);
