/*
 * diff_text - a comparison as a page of text: the scope of both sides, what is
 * taken as constant, doubts, the rows that changed, both bills in short. Same
 * comparison, same bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include <stdbool.h>

#include "render/text_table.h"

struct buffer;
struct comparison;

struct diff_text_options {
	enum text_colour colour;
	const char *before_title, *after_title; /* what was read */
	bool full_names;
};

void diff_text(const struct comparison *comparison, const struct diff_text_options *options,
	       struct buffer *out);
