/*
 * flame_grow - the tree of flame.h while it grows, and the walk that adds one
 * profile's samples to it. Frames, here called twigs, are numbered as they come,
 * parents first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/flame/flame_tree.h"
#include "analyze/report/label_tree.h"
#include "base/hash_index.h"

struct flame_growth {
	struct flame *flame;	 /* labels, arena and columns are used */
	struct label_tree twigs; /* of labels of the flame; 0 is the root */
	size_t label_capacity;
	struct hash_index label_index;
	struct node_cells self[FLAME_SIDES]; /* by twig; of a side without a report none */
};

/* Makes the root. Returns 0 or -ENOMEM; to be released in both cases. */
int flame_growth_init(struct flame_growth *growth, struct flame *flame);
void flame_growth_release(struct flame_growth *growth);

/*
 * Adds the samples of flame->reports[side] that pass its filters. `column_of` has the
 * tree's column for each of the report's, or EVENT_COLUMN_NONE; NULL: they are the
 * same. Errors as report_new().
 */
int flame_grow(struct flame_growth *growth, enum flame_side side, struct resolver *resolver,
	       const struct flame_options *options, const uint32_t *column_of, struct error *err);
