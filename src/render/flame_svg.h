/*
 * flame_svg - a flame graph as one self-contained page: an SVG document, or an
 * HTML document that holds it. It is right without script: frames, labels,
 * hover texts, legend and scope are all in the markup, and the script only adds
 * zoom, search and keys. Names come from strangers: whatever they hold, they
 * stay text.
 *
 * Everything is borrowed and nothing changed. Failure to allocate shows in the
 * buffer.
 */
#pragma once

#include "base/buffer.h"
#include "render/flame_picture.h"

/* The share of the root below which a frame is narrower than min_px. */
double flame_min_share(double width_px, double min_px);

void flame_svg(const struct flame_picture *picture, struct buffer *out);
