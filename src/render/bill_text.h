/*
 * bill_text - what stands below the rows of every report: the bill, which is what became of the
 * samples and of the time that they stand for, what stacks and names lack, what collecting cost,
 * and the notes.
 */
#pragma once

#include "render/report_text_options.h"

struct buffer;
struct report;

void bill_text(const struct report *report, const struct report_text_options *options,
	       struct buffer *out);
