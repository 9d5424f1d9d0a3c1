#include "profile/image_paths.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/profile.h"

/* The path of a row, and its image; empty when it counts for none. */
static struct span path_of_row(const struct image_paths *paths, const struct profile *profile,
			       size_t row, uint64_t *image)
{
	const uint64_t *keys = table_keys(profile_table(profile, PROFILE_PATH), row);
	*image = keys[PATH_IMAGE];
	return *image <= paths->image_count ? profile_bytes(profile, keys[PATH_PATH])
					    : (struct span){ NULL, 0 };
}

int image_paths_init(struct image_paths *out, const struct profile *profile)
{
	size_t rows = profile_table(profile, PROFILE_PATH)->count;
	size_t images = profile_table(profile, PROFILE_IMAGE)->count;
	*out = (struct image_paths){ .image_count = images };
	out->list = calloc(rows + 1, sizeof(*out->list));
	out->from = calloc(images + 2, sizeof(*out->from));
	CLEANUP(free_pointer) size_t *best = calloc(images + 1, sizeof(*best)); /* rows */
	CLEANUP(free_pointer) size_t *next = calloc(images + 1, sizeof(*next));
	if (!out->list || !out->from || !best || !next)
		return -ENOMEM;
	uint64_t image;
	for (size_t row = 0; row < rows; row++) {
		if (!path_of_row(out, profile, row, &image).size)
			continue;
		if (!out->from[image + 1] || profile_path_is_better(profile, row, best[image]))
			best[image] = row;
		out->from[image + 1]++;
	}
	for (size_t i = 0; i <= images; i++) {
		out->from[i + 1] += out->from[i];
		next[i] = out->from[i] + 1; /* behind the best */
	}
	for (size_t row = 0; row < rows; row++) {
		struct span path = path_of_row(out, profile, row, &image);
		if (path.size)
			out->list[best[image] == row ? out->from[image] : next[image]++] = path;
	}
	return 0;
}

void image_paths_release(struct image_paths *paths)
{
	free(paths->list);
	free(paths->from);
	*paths = (struct image_paths){ 0 };
}

const struct span *image_paths_of(const struct image_paths *paths, uint64_t image, size_t *count)
{
	*count = 0;
	if (!paths->from || image > paths->image_count)
		return NULL;
	*count = paths->from[image + 1] - paths->from[image];
	return paths->list + paths->from[image];
}

struct span image_paths_best(const struct image_paths *paths, uint64_t image)
{
	size_t count;
	const struct span *list = image_paths_of(paths, image, &count);
	return count ? list[0] : (struct span){ NULL, 0 };
}
