/*
 * cfg_picture - what a picture of a graph of control flow shows. Everything is borrowed.
 */
#pragma once

#include <stddef.h>

#include "analyze/cycles/cfg_view.h"

enum cfg_colour {
	CFG_COLOUR_CPI,	   /* cycles an instruction, on the scale of flame graphs */
	CFG_COLOUR_CYCLES, /* share of the procedure's cycles, from 0.5 % over 5 % to 50 % */
};

struct cfg_picture {
	const struct cfg_view *view;
	enum cfg_colour colour;
	const char *source;  /* name of the input */
	const char *event;   /* whose samples the figures come from */
	size_t instructions; /* listed in a block; 0: all */
};
