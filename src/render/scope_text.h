/*
 * scope_text - what stands above the rows of every report: its scope, which is
 * whose time, which event, percent of what. Below them is the bill (bill_text.h).
 */
#pragma once

#include "render/report_text_options.h"

struct buffer;
struct report;

void scope_text_above(const struct report *report, const struct report_text_options *options,
		      struct buffer *out);
/* One event in a line without its end: how it was sampled, how many samples, what they add up to.
 */
void scope_text_event(const struct report *report, size_t column, struct buffer *out);
