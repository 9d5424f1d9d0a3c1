/*
 * flame_changes - what changed in each frame that a view shows: of what lies in
 * the frame and below it, by analyze/figures/difference.h. All frames are tested
 * together: of the changes that are significant at most one in twenty is expected
 * to be chance.
 */
#pragma once

#include <stddef.h>

#include "analyze/figures/difference.h"
#include "analyze/flame/flame_view.h"

struct error;
struct flame_runs;

struct flame_changes_options {
	struct difference_event event; /* of the view's width column */
	enum difference_overlap overlap;
	/* what the change is split into: cycles and instructions, when both sides have both; the
	 * scale is that of the cycles */
	struct flame_ratio cpi;
	struct difference_event cycles;
	const struct flame_runs *runs; /* NULL: one run a side */
};

struct flame_changes {
	struct flame_changes_options options;
	struct difference *list;	    /* by shown frame */
	struct difference_split *splits;    /* by shown frame; NULL when it can't be split */
	size_t significant, noise, unknown; /* frames, by verdict */
};

/* Of a view with a base. Returns 0 and changes to release, or -ENOMEM with *err. */
int flame_changes_init(struct flame_changes *changes, const struct flame_view *view,
		       const struct flame_changes_options *options, struct error *err);
void flame_changes_release(struct flame_changes *changes);

/* After / before of a frame, for its colour: a value without an interval, infinite for what is new;
 * absent when neither side has the frame. */
struct estimate flame_changes_ratio(const struct flame_changes *changes, size_t shown);
