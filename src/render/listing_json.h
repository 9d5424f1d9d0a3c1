/*
 * listing_json - annotations as one JSON document, "schema": 1. Addresses are
 * texts in hexadecimal; what is not known is null.
 */
#pragma once

#include <stddef.h>

#include "analyze/annotate.h"

struct buffer;

/* Appends the document. Failure to allocate shows in the buffer. */
void listing_json_print(struct annotation *const *annotations, size_t count,
			const struct annotate_index *index, const char *const *notes,
			size_t note_count, struct buffer *out);
