/*
 * compare - two profiles side by side: the rows of two reports made with the
 * same options, matched (analyze/compare/row_match.h), with what changed in each event and
 * how sure that is (analyze/figures/difference.h), and with what makes the two hard to
 * compare.
 *
 * A comparison borrows from both profiles and resolvers, which must outlive it,
 * unchanged. The sides may be two events of one profile. One thread at a time.
 */
#pragma once

#include "analyze/compare/comparison.h"

/*
 * Returns 0 and stores a comparison that the caller frees; or what report_new()
 * returns, -ENOENT when the sides have no event in common or what options.per names
 * is not on both, -ENODATA when a side has nothing of it, -EINVAL when it is
 * ambiguous, -EOVERFLOW when counts pass 64 bits in the finer decimals of the two,
 * and fills *err.
 */
int compare_new(const struct compare_side *before, const struct compare_side *after,
		const struct compare_options *options, struct comparison **out, struct error *err);
void compare_free(struct comparison *comparison);
void compare_freep(struct comparison **comparison); /* for CLEANUP() */
