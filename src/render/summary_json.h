/*
 * summary_json - where cycles went, as one JSON document; docs/man/culprit-summary.1.scd
 * tells its keys.
 */
#pragma once

#include "analyze/culprits/summary.h"

struct buffer;

/* `notes` of naming follow those of the estimates. */
void summary_json(const struct summary *summary, const struct cycles *cycles,
		  const char *const *notes, size_t note_count, struct buffer *out);
