/*
 * difference_text - how sure a change is, as pages of text say it.
 */
#pragma once

#include <stddef.h>

#include "analyze/figures/difference.h"

/* What a comparison of one run with one cannot know. */
#define DIFF_ONE_RUN_NOISE                                                                         \
	"of sampling alone, with one run a side: how much runs differ by themselves is not in "    \
	"intervals and marks; give several, A1 A2 A3 -- B1 B2 B3"

struct buffer;

/* What "?" in front of so many rows means, and its line's end. */
void difference_put_unknown(size_t rows, struct buffer *out);

extern const char *const difference_verdict_words[]; /* "significant", "may be chance", ... */
extern const char *const difference_verdict_marks[]; /* "*", nothing, "?" */
