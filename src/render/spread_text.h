/*
 * spread_text - how costs vary over runs, as a page of text.
 */
#pragma once

#include "render/spread_text_options.h"

struct buffer;
struct spread;

void spread_text(const struct spread *spread, const struct spread_text_options *options,
		 struct buffer *out);
