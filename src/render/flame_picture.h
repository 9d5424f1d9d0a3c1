/*
 * flame_picture - what a page of a flame graph shows. Everything is borrowed.
 */
#pragma once

#include <stddef.h>

#include "analyze/flame/flame_changes.h"
#include "analyze/flame/flame_view.h"
#include "render/flame_colour.h"
#include "render/flame_palette.h"

struct flame_images;

enum flame_layout { FLAME_UPWARDS, FLAME_ICICLE };
enum flame_form { FLAME_SVG, FLAME_HTML };

struct flame_picture {
	const struct flame_view *view;
	const struct flame_scale *scale;     /* of view->options.ratio; not used with deltas */
	const struct flame_changes *changes; /* of a view with a base, else NULL */
	const char *base_source;	     /* name of the base */
	size_t runs[2];	      /* before and after, of a view with a base: what frames are sums of */
	const char *per;      /* a sentence on what was taken as constant */
	const char *title;    /* NULL: on-CPU flame graph of `source` */
	const char *subtitle; /* stands above the scope, or NULL */
	const char *source;   /* name of the input */
	double width_px;
	enum flame_layout layout;
	enum flame_form form;
	const char *const *notes; /* sentences for the scope */
	size_t note_count;
	const struct flame_images *images; /* the writer's own; callers leave it NULL */
};

#define FLAME_WIDTH_PX	   1200.0
#define FLAME_MARGIN_PX	   10.0
#define FLAME_MIN_WIDTH_PX 0.1
