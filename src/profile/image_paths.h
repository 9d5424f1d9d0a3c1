/*
 * image_paths - an index of the profile's path table by image, made in one pass, so that the
 * table is not searched again for each image. It borrows from the profile, which must not change
 * while the index lives.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct profile;

struct image_paths {
	struct span *list; /* by image: the best path first, the others in the table's order */
	size_t *from;	   /* by image id, and one more: where the image's paths begin in `list` */
	size_t image_count;
};

/* Fills *out, which the caller releases also after an error. Empty paths are left out. 0 or
 * -ENOMEM. */
int image_paths_init(struct image_paths *out, const struct profile *profile);
void image_paths_release(
	struct image_paths *paths); /* for CLEANUP(); also right for a zeroed one */
/* The paths of an image: *count of them, maybe 0. */
const struct span *image_paths_of(const struct image_paths *paths, uint64_t image, size_t *count);
/* The image's best path (profile_path_is_better()); empty when it has none. */
struct span image_paths_best(const struct image_paths *paths, uint64_t image);
