/*
 * difference_text - how sure a change is, as pages of text say it.
 */
#pragma once

#include "analyze/figures/difference.h"

extern const char *const difference_verdict_words[]; /* "significant", "may be chance", ... */
extern const char *const difference_verdict_marks[]; /* "*", nothing, "?" */
