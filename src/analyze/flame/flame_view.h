/*
 * flame_view - what one picture shows of a flame tree: where each frame lies,
 * which are too narrow to be seen, the ratio that colours them, and with a base
 * what changed. The ratio is of what lies in a frame and below it.
 *
 * Without a base a frame is as wide as its total of the width event. With one
 * it is as wide as its total on the chosen side, and frames that this side
 * lacks are there too, as wide as on the other side, each within its parent,
 * which is wider by as much: nothing that either side has is out of sight, and
 * all others keep the width of their own count.
 *
 * A view borrows the tree. Nothing changes it once made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "analyze/figures/interval.h"
#include "analyze/figures/slot_columns.h"
#include "analyze/flame/flame.h"

struct error;

/* The quotient of two columns. */
struct flame_ratio {
	bool known;
	size_t above, below;
	enum ratio_samples samples;
};

/* Which columns a ratio is of. Each returns 0, or -ENODATA with *err when the profile lacks an
 * event. `width` is preferred where there are several pairs. */
int flame_ratio_cpi(const struct event_columns *columns, size_t width, struct flame_ratio *ratio,
		    struct error *err);
int flame_ratio_ipc(const struct event_columns *columns, size_t width, struct flame_ratio *ratio,
		    struct error *err);
/* Events of stalled cycles, to cycles. */
int flame_ratio_stalls(const struct event_columns *columns, struct flame_ratio *ratio,
		       struct error *err);
/* A part of TopDown (SLOTS_RETIRING or SLOTS_BACKEND), to all slots; -ENOMEM, too. */
int flame_ratio_slots(const struct event_columns *columns, enum slot_part which, size_t width,
		      struct flame_ratio *ratio, struct error *err);
/* "EVENT/EVENT"; names may hold slashes themselves. -EINVAL without a slash. */
int flame_ratio_of(const struct event_columns *columns, const char *text, struct flame_ratio *ratio,
		   struct error *err);

struct flame_view_options {
	size_t width; /* column */
	struct flame_ratio ratio;
	double min_share; /* of the root's width; frames below are left out with all below them */
	enum flame_side side; /* that widths are of */
	double base_factor;   /* of the base's counts; not looked at without one */
	bool stretch;	      /* fill deltas */
	bool stretch_total;   /* scale the subtrahend to the minuend's total first */
};

struct flame_shown {
	uint32_t frame;	   /* of the tree */
	uint32_t parent;   /* among the shown; of the first: 0 */
	uint64_t x, width; /* in steps of the width column */
	bool vanished;	   /* not on the side that widths are of */
};

struct flame_view {
	const struct flame *flame;
	struct flame_view_options options;
	struct flame_shown *shown; /* depth first; the root first */
	size_t count;
	uint32_t depth;		 /* rows */
	size_t left_out;	 /* frames that are too narrow */
	size_t empty;		 /* frames that have none of the width event: not shown either */
	uint64_t left_out_width; /* their sum, each counted once */
	uint64_t vanished_width; /* of frames that are not on the side of widths */

	struct estimate *ratios; /* by shown; NULL without a ratio */
	double *effective;	 /* by shown: samples the ratio rests on; negative: not known */
	struct estimate whole_ratio;
	struct estimate *base_ratios; /* by shown, of the base; NULL without both */

	/* As the scripts of 2014 had it: of the stacks that end in the frame, width event minus
	 * the ratio's other event; or minus the base. */
	double *deltas;	      /* by shown; NULL without options.stretch */
	double largest_delta; /* of all stacks, at least 1 */
};

/* The ratio, of events, of what lies in a frame of the tree and below it, on one side. */
struct estimate flame_ratio_at(const struct flame *flame, const struct flame_ratio *ratio,
			       enum flame_side side, size_t frame);

/* Returns 0 and a view to release, or -ENODATA (nothing to draw), -EOVERFLOW (both sides together
 * pass 64 bits) or -ENOMEM with *err. */
int flame_view_init(struct flame_view *view, const struct flame *flame,
		    const struct flame_view_options *options, struct error *err);
void flame_view_release(struct flame_view *view);
