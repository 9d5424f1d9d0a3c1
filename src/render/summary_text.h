/*
 * summary_text - where the cycles of some procedures went, as a table like Figure 4 of
 * Anderson et al., SOSP 1997: each cause with the least and the most that it can have
 * taken, sums, and the worst stalls with their causes.
 */
#pragma once

#include "analyze/culprits/summary.h"
#include "render/text_table.h"

struct summary_text_options {
	const char *title;   /* what was read */
	const char *subject; /* "gzip", "3 procedures of gzip"; NULL: everything */
	enum text_colour colour;
};

/* Failure to allocate shows in the buffer, as usual there. */
void summary_text(const struct summary *summary, const struct cycles *cycles,
		  const struct summary_text_options *options, struct buffer *out);
