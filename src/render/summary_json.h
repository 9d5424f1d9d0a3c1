/*
 * summary_json - where cycles went, as one JSON document; docs/man/culprit-summary.1.scd
 * describes its keys.
 */
#pragma once

#include "analyze/culprits/summary.h"

struct buffer;

/* The document's notes are those of the estimates, then `notes`, which are of naming. */
void summary_json(const struct summary *summary, const struct cycles *cycles,
		  const char *const *notes, size_t note_count, struct buffer *out);
