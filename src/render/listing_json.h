/*
 * listing_json - annotations as one JSON document, "schema": 1. Addresses are
 * texts in hexadecimal; what is not known is null.
 */
#pragma once

#include <stddef.h>

#include "analyze/code/annotate.h"
#include "render/listing.h"

struct buffer;

/* Appends the document; `cycles` may be NULL. Failure to allocate shows in the buffer. */
void listing_json_print(const struct listing_subject *const *subjects, size_t count,
			const struct annotate_index *index, const struct cycles *cycles,
			const char *const *notes, size_t note_count, struct buffer *out);
