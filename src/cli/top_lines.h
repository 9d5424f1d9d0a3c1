/*
 * top_lines - the lines of a text, by number.
 */
#pragma once

#include <stddef.h>

#include "base/span.h"

struct buffer;

struct top_lines {
	const struct buffer *text;
	size_t *starts; /* one more than there are lines */
	size_t count, capacity;
};

/* Begins anew with a text, which has to stay as it is meanwhile. Lines that there is no memory for
 * are left out. */
void top_lines_of(struct top_lines *lines, const struct buffer *text);
/* A line without its end. */
struct span top_lines_get(const struct top_lines *lines, size_t at);
void top_lines_release(struct top_lines *lines);
