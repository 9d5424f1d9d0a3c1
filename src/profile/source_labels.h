/*
 * source_labels - what the user calls a part of a recording: the column `labels` of the table
 * "source", lines of text, sorted, each once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

struct buffer;
struct profile;

#define SOURCE_LABEL_MOST_BYTES 200

/* Whether `label` can be one: not empty, not too long, nothing in it that ends a line or steers a
 * terminal. */
bool source_label_is_usable(const char *label);

/* Whether `label` is one of the lines of `labels`. */
bool source_labels_have(struct span labels, struct span label);

/* Replaces what `out` holds by the union of two texts of labels. Neither is in `out`. Check
 * buffer_failed(). */
void source_labels_join(struct span one, struct span other, struct buffer *out);

/* Gives all sources of the profile these labels, beside those that they have; rows that are the
 * same from then on become one. 0 or -ENOMEM, after which the table "source" is as it was. Stores
 * in *changed (unless NULL) whether any row did. */
int profile_label_sources(struct profile *profile, struct span labels, bool *changed);
