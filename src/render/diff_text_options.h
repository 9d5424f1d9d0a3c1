/*
 * diff_text_options - how a comparison is shown as text.
 */
#pragma once

#include <stdbool.h>

#include "render/text_table.h"

struct diff_text_options {
	enum text_colour colour;
	const char *before_title, *after_title; /* what was read */
	bool full_names;
};
