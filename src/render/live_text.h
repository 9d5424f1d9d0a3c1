/*
 * live_text - what stands above the rows of a report that is made again and again while it is
 * sampled: how busy the machine is, what is sampled and what a clock's samples cannot say, what
 * was lost or is not known, and what watching costs. Failure to allocate shows in the buffer.
 */
#pragma once

#include <stdint.h>

#include "render/text_table.h"

struct buffer;
struct report;

struct live_text_options {
	enum text_colour colour;
	uint64_t ns;	    /* how long the samples were taken */
	const char *source; /* "own samples": where they come from */
	const char *state;  /* "frozen", or ""; a remark at the end of the first line */
};

/* Lines, each with its end. */
void live_text(const struct report *report, const struct live_text_options *options,
	       struct buffer *out);
