/*
 * diff_json - a comparison as one JSON document, schema 1 (culprit-diff(1)).
 */
#pragma once

struct buffer;
struct comparison;

void diff_json(const struct comparison *comparison, const char *before_title,
	       const char *after_title, struct buffer *out);
