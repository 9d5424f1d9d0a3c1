/*
 * scope_text - what stands above and below the rows of every report: the scope
 * (whose time, which event, percent of what) and the bill.
 */
#pragma once

#include "render/report_text.h"

void scope_text_above(const struct report *report, const struct report_text_options *options,
		      struct buffer *out);
void scope_text_below(const struct report *report, const struct report_text_options *options,
		      struct buffer *out);
/* One event in a line without its end: how it was sampled, how many samples, what they add up to.
 */
void scope_text_event(const struct report *report, size_t column, struct buffer *out);
