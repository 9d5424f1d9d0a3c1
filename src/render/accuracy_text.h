/*
 * accuracy_text - the accuracy of estimates as tables, or as one JSON document
 * ("schema": 1). Lays out; analyze/accuracy/accuracy.h has the figures.
 */
#pragma once

#include <stddef.h>

#include "analyze/accuracy/accuracy.h"
#include "render/text_table.h"

struct buffer;

struct accuracy_look {
	enum text_colour colour;
	const char *title;	 /* of the profile */
	const char *truth_title; /* of the exact counts */
	const char *event;	 /* whose samples are the weights */
	size_t most_procedures;	 /* in the table of text; JSON has all */
};

/* Failure to allocate shows in the buffer. */
void accuracy_text_print(const struct accuracy *accuracy, const struct cycles *cycles,
			 const struct accuracy_look *look, struct buffer *out);
void accuracy_json_print(const struct accuracy *accuracy, const struct cycles *cycles,
			 const struct accuracy_look *look, struct buffer *out);

/* "absolute", "procedure", "program". */
const char *accuracy_scale_name(enum accuracy_scale scale);
