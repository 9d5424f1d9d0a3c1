/*
 * flame - the samples of a profile as one tree of merged frames: the root
 * "all", then commands, then the functions of the stacks from the outermost in.
 * Stacks that read the same are one path, whatever addresses they went through;
 * every event of the profile is counted along. With a base, the samples of two
 * profiles lie in one tree, and each frame has its figures of both.
 *
 * Samples without a stack stand below a frame "[no stack]"; a profile without
 * any stack makes towers of image and procedure. So the root is always the sum
 * of all that passed the filters.
 *
 * A flame tree borrows from the profiles and resolvers it was made of, which
 * outlive it. Nothing changes it once made.
 */
#pragma once

#include "analyze/flame/flame_tree.h"

/*
 * Makes the tree; `base` may be NULL. Returns 0 and stores one that the caller frees;
 * or what report_new() returns, -ENODATA also for a base that shares no event with
 * the profile, -EOVERFLOW also where counts pass 64 bits in the finer decimals of the
 * two; and fills *err.
 */
int flame_new(const struct flame_input *input, const struct flame_input *base,
	      const struct flame_options *options, struct flame **out, struct error *err);
void flame_free(struct flame *flame);
void flame_freep(struct flame **flame); /* for CLEANUP() */
