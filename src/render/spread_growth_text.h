/*
 * spread_growth_text - why what varies most grew, as a part of the page of spread.
 */
#pragma once

struct buffer;
struct spread;
struct spread_text_options;

void spread_growth_text(const struct spread *spread, const struct spread_text_options *options,
			struct buffer *out);
