/*
 * flame_palette - the colours of flame graphs in light and in dark: eleven
 * classes from working (blue) to waiting (red), two greys, one colour per image,
 * the 2014 scripts' own colours, and the marks that tell kernel, inlined, JIT and
 * unknown code apart without colour. How far neighbours lie apart for people who
 * see colours differently is computed in tests/unit/render/test_flame_palette.c.
 * All functions are pure.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct buffer;

#define FLAME_PACKAGES 21 /* colours of `package`, the fixed ones first */
enum flame_package {
	FLAME_PACKAGE_KERNEL,
	FLAME_PACKAGE_LIBC,
	FLAME_PACKAGE_UNKNOWN, /* code of no known image */
	FLAME_PACKAGES_FIXED,
};

/* The CSS class of a class: "c0" .. "c10", "ns" (unsure), "nv" (absent). */
const char *flame_class_css(int class_number);
/* 0 .. FLAME_PACKAGES - 1 by the image's name without its version, the same in every graph. */
unsigned flame_package_number(struct span image);
const char *flame_package_css(unsigned number); /* "p0" .. "p20" */
#define FLAME_PLAIN_CSS "p"			/* of FLAME_NONE */

/*
 * The style sheet's rules for the classes: a colour each in light, in dark by
 * prefers-color-scheme, and by data-theme="light|dark" on #culprit-flame. web/flame.css
 * (embedded as flame_css in the built file web/flame_web.h) follows it.
 */
void flame_colour_css(struct buffer *out);

/* The palette, for tests and the table in docs/methods.md: 0xrrggbb. */
enum flame_theme { FLAME_LIGHT, FLAME_DARK };
uint32_t flame_class_rgb(int class_number, enum flame_theme theme); /* UNSURE: the hatch's ground */
uint32_t flame_hatch_rgb(enum flame_theme theme);		    /* its strokes */
uint32_t flame_package_rgb(int number, enum flame_theme theme);
uint32_t flame_text_rgb(enum flame_theme theme); /* of labels */

/*
 * The colour that FlameGraph's flamegraph.pl gives a frame from two columns
 * (color_scale): delta is after - before of the stacks that end in the frame,
 * largest the largest |delta| of an input line (at least 1). White for 0, to red
 * for more, to blue for less.
 */
uint32_t flame_gregg_rgb(double delta, double largest);

/* What kind of code a frame is; shown by a mark and not by colour alone. */
enum flame_mark {
	FLAME_MARK_USER,
	FLAME_MARK_KERNEL,
	FLAME_MARK_INLINED,
	FLAME_MARK_JIT,
	FLAME_MARK_UNKNOWN
};
#define FLAME_MARKS 5
/* The second CSS class of a frame: "u", "k", "i", "j", "n". */
const char *flame_mark_css(enum flame_mark mark);
/* Narrower frames (px) get no mark and no line before them. */
#define FLAME_MARK_WIDTH 4.0
/*
 * Appends to the path of that kind (one <path class="mark k" d="..."> for all
 * frames of a kind) the mark of one frame, in px: kernel a filled triangle in the
 * upper right corner, inlined a dashed line along the bottom, JIT a filled
 * triangle in the upper left corner, unknown a dashed line along the top, user
 * nothing. web/flame.js draws the same after zooming.
 */
void flame_mark_append(struct buffer *path, enum flame_mark mark, double x, double y, double width,
		       double height);
