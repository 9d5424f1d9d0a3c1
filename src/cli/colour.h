/*
 * colour - whether text on stdout has colour: by --color, else by NO_COLOR, else by
 * whether stdout is a terminal.
 */
#pragma once

#include "cli/options.h"
#include "render/text_table.h"

#define COLOUR_OPTION_ROW(variable)                                                                \
	{                                                                                          \
		"color", 0, OPTION_TEXT, "never|always|auto",                                      \
			"auto: on a terminal, unless NO_COLOR", &(variable), NULL                  \
	}

/* `when` is the option's value or NULL. Returns 0, or 2 after a message about a wrong value. */
int colour_choose(const struct verb *verb, const char *when, enum text_colour *colour);
