/*
 * diff_text - a comparison as a page of text: the scope of both sides, what is
 * taken as constant, doubts, the rows that changed, both bills in short. Same
 * comparison, same bytes. Failure to allocate shows in the buffer.
 */
#pragma once

#include "render/diff_text_options.h"

struct buffer;
struct comparison;

void diff_text(const struct comparison *comparison, const struct diff_text_options *options,
	       struct buffer *out);
