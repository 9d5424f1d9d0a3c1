/*
 * spread_text_options - how costs over runs are shown as text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "render/text_table.h"

struct spread_growth;

struct spread_text_options {
	enum text_colour colour;
	const char *title;	   /* of all runs: "a.prof and 7 more" */
	const char *const *titles; /* by run */
	bool full_names;
	const struct spread_growth *growth; /* why the first rows grew; `growth_count` of them */
	size_t growth_count;
};
