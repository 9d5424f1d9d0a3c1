/*
 * cfg_svg - a procedure's graph of control flow as one self-contained SVG picture: blocks with
 * their instructions, executions and CPI; lines that are the wider the more often their way was
 * taken; loops, what comes from elsewhere, and what is not known. Blocks have the colours of flame
 * graphs (flame_palette.h) on the same scale, so the same colour is the same CPI. Code and names
 * come from strangers: whatever they hold, they stay text.
 *
 * Everything is borrowed. Failure to allocate shows in the buffer.
 */
#pragma once

#include "render/cfg_picture.h"

struct buffer;

void cfg_svg(const struct cfg_picture *picture, struct buffer *out);
/* The same graph, all of it, as one JSON document ("schema": 1), and what is shown for Graphviz. */
void cfg_json(const struct cfg_picture *picture, struct buffer *out);
void cfg_dot(const struct cfg_picture *picture, struct buffer *out);

/* CFG_COLOUR_CPI where the procedure's CPI is known, else CFG_COLOUR_CYCLES. */
enum cfg_colour cfg_default_colour(const struct procedure_cycles *procedure);
