/*
 * flame_grow - the tree of flame.h while it grows, and the walk that makes one
 * profile's samples grow it. Frames are numbered as they come, parents first.
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

/* Makes the root. Returns 0 or -ENOMEM; releases nothing then. */
int flame_growth_init(struct flame_growth *growth, struct flame *flame);
void flame_growth_release(struct flame_growth *growth);

/*
 * Adds the samples of flame->reports[side] that pass its filters, column by
 * `column_of` (of the report's columns: the tree's, or EVENT_COLUMN_NONE; NULL:
 * the same). Errors as report_new().
 */
int flame_grow(struct flame_growth *growth, enum flame_side side, struct resolver *resolver,
	       const struct flame_options *options, const uint32_t *column_of, struct error *err);
