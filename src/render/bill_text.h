/*
 * bill_text - what stands below the rows of every report: the bill, which is what became of the
 * samples and of the time that they stand for, what stacks and names lack, what collecting cost,
 * and the notes.
 */
#pragma once

#include "render/report_text_options.h"

struct buffer;
struct report;
struct scope_bill;

void bill_text(const struct report *report, const struct report_text_options *options,
	       struct buffer *out);
/* The samples of one event without a line's end: stored, lost by cause, of unknown code. */
void bill_text_samples(const struct scope_bill *bill, struct buffer *out);
