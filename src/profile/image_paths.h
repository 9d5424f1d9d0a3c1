/*
 * image_paths - the paths of every image, found in one pass over the profile's path table:
 * who wants those of many images does not look through it for each. It borrows from the profile,
 * which must not change while the index lives.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct profile;

struct image_paths {
	struct span *list; /* by image; of each the best first, the others as the table has them */
	size_t *from;	   /* by image id, and one more: where its own begin in the list */
	size_t image_count;
};

/* Fills *out, which the caller releases also after an error. Empty paths are left out. 0 or
 * -ENOMEM. */
int image_paths_init(struct image_paths *out, const struct profile *profile);
void image_paths_release(
	struct image_paths *paths); /* for CLEANUP(); also right for a zeroed one */
/* Those of an image: *count of them, maybe 0. */
const struct span *image_paths_of(const struct image_paths *paths, uint64_t image, size_t *count);
/* The best of them (profile_path_is_better()); empty when it has none. */
struct span image_paths_best(const struct image_paths *paths, uint64_t image);
