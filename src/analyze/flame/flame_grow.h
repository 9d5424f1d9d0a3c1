/*
 * flame_grow - the tree of flame.h while it grows, and the walk that makes one
 * profile's samples grow it. Frames are numbered as they come, parents first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/flame/flame_tree.h"
#include "base/hash_index.h"

struct flame_twig {
	uint32_t parent, label;
};

struct flame_growth {
	struct flame *flame; /* labels, arena and columns are used */
	struct flame_twig *twigs;
	size_t count, capacity;
	size_t label_capacity;
	struct hash_index twig_index, label_index;
	struct cell *self[FLAME_SIDES]; /* capacity * columns each; NULL for a side without samples
					 */
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
