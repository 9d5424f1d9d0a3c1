/*
 * compare_base - what a comparison takes as constant, and the factors that
 * follow from it for each of its columns (docs/methods.md, "Differences").
 */
#pragma once

#include "analyze/compare/comparison.h"

/*
 * Sets comparison->base, constant, constant_inclusive and base_chosen, and the scale and overlap of
 * each column, whose wholes have to be there. `before` and `after` are the sides compare_new() was
 * given. Returns as compare_new() does.
 */
int compare_choose_base(struct comparison *comparison, const struct compare_side *before,
			const struct compare_side *after, struct error *err);

/* Does the profile have an event of that name, with or without modifiers? */
bool compare_has_event(const struct profile *profile, const char *name);
