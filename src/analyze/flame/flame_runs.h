/*
 * flame_runs - of a tree with a base, both of marked runs (profile/runs.h): what each run has in
 * each frame, and from that how much more the runs of a frame scatter than counting alone makes
 * them.
 */
#pragma once

#include <stddef.h>

#include "analyze/compare/comparison.h"
#include "analyze/flame/flame.h"

struct error;

struct flame_runs {
	size_t runs[FLAME_SIDES];
	const struct flame *flame;
	const struct comparison *comparison;
	/* Of frame and below: [(frame * columns + column) * runs + run], in the decimals of that
	 * side, as the comparison has its runs. */
	struct cell *cells[FLAME_SIDES];
};

/*
 * `inputs` and `options` are those that the tree was made of, `comparison` is of the same sides.
 * Counts each run's stacks once more. Returns 0 and runs to release; or what flame_new() returns,
 * -EBADMSG also when a run has a frame that the tree lacks, with *err.
 */
int flame_runs_init(struct flame_runs *runs, const struct flame *flame,
		    const struct flame_input inputs[FLAME_SIDES],
		    const struct flame_options *options, const struct comparison *comparison,
		    struct error *err);
void flame_runs_release(struct flame_runs *runs); /* for CLEANUP(); also right for a zeroed one */

/* The noise of `count` frames in a column of the tree, in the order of `frames`. 0 or -ENOMEM. */
int flame_runs_noise(const struct flame_runs *runs, size_t column, const uint32_t *frames,
		     size_t count, struct difference_noise *noises);
