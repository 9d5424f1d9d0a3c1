/*
 * cfg_svg - a procedure's graph of control flow as one self-contained SVG picture: blocks with
 * their instructions, executions and CPI; ways as wide as they were gone often; loops, what comes
 * from elsewhere, and what is not known. Blocks have the colours of flame graphs
 * (flame_palette.h): of the same scale, so the same colour is the same CPI. Code and names
 * come from strangers: whatever they hold, they stay text.
 *
 * Everything is borrowed. Failure to allocate shows in the buffer.
 */
#pragma once

#include <stddef.h>

#include "analyze/cycles/cfg_view.h"

struct buffer;

enum cfg_colour {
	CFG_COLOUR_CPI,	   /* cycles an instruction, on the scale of flame graphs */
	CFG_COLOUR_CYCLES, /* share of the procedure's cycles, from 0.5 % over 5 % to 50 % */
};

struct cfg_picture {
	const struct cfg_view *view;
	enum cfg_colour colour;
	const char *source;  /* name of the input */
	const char *event;   /* that says where time went, or what ran */
	size_t instructions; /* listed in a block; 0: all */
};

void cfg_svg(const struct cfg_picture *picture, struct buffer *out);
/* The same graph, all of it, as one JSON document ("schema": 1), and what is shown for Graphviz. */
void cfg_json(const struct cfg_picture *picture, struct buffer *out);
void cfg_dot(const struct cfg_picture *picture, struct buffer *out);

/* CPI where it has a meaning of its own. */
enum cfg_colour cfg_default_colour(const struct procedure_cycles *procedure);
