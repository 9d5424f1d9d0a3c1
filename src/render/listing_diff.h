/*
 * listing_diff - a procedure's two versions as one listing, instruction by
 * instruction, with what changed; as text and as a part of a JSON document.
 */
#pragma once

#include <stddef.h>

#include "analyze/compare/annotate_diff.h"
#include "render/listing.h"

struct buffer;

/* Where both versions come from. */
struct listing_diff_sides {
	const struct annotate_index *before, *after;
	const char *before_title, *after_title;
	enum difference_base base;
	double factor; /* of before's counts, for raw and second; for total each event has its own
			*/
};

/* Failure to allocate shows in the buffer, as usual there. */
void listing_diff_print(const struct annotation_diff *diff, const struct listing_diff_sides *sides,
			const struct listing_options *options, struct buffer *out);
void listing_diff_json(struct annotation_diff *const *diffs, size_t count,
		       const struct listing_diff_sides *sides, const char *const *notes,
		       size_t note_count, struct buffer *out);
