/*
 * report_text_options - how a report is shown as text.
 */
#pragma once

#include <stdbool.h>

#include "render/text_table.h"

struct report_text_options {
	enum text_colour colour;
	const char *title; /* what was read: "culprit.prof"; NULL: no line about it */
	bool full_names;   /* else long ones are folded where no two rows would look the same */
};
