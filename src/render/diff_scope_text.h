/*
 * diff_scope_text - what stands above and below the rows of a comparison: the
 * scope of both sides, what was taken as constant, the totals, the doubts; the
 * marks, both bills in short.
 */
#pragma once

#include "render/diff_text_options.h"
#include "render/quantity.h"

struct compared_column;
struct comparison;
struct event_column;
struct buffer;

/* A comparison as the page shows it: by its main column. */
struct diff_view {
	const struct comparison *comparison;
	const struct diff_text_options *options;
	const struct compared_column *main;
	const struct event_column *event; /* of the main column */
	struct quantity_scale scale;	  /* of its estimates */
	bool with_split;
	size_t split; /* of the pair that the main column is the cycles of */
};

void diff_scope_above(const struct diff_view *view, struct buffer *out);
void diff_scope_below(const struct diff_view *view, struct buffer *out);
