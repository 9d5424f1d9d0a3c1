/*
 * mapped_image - the image of a mapping that another tool names by a path, or what
 * stands in its place ("[vdso]"), and perhaps a build-id. A file's vaddrs are offsets
 * in it, since its program headers are not there.
 *
 * mapped_image_add() does all of it. Where many mappings share a path or a build-id, read
 * each of these once, by mapped_path_read() and mapped_build_read(), and make the images by
 * mapped_image_of().
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct profile;

/* `build_id` as the tool writes it: hexadecimal, or a text of another kind (Go's). 0 or -ENOMEM. */
int mapped_image_add(struct profile *profile, struct span path, struct span build_id, uint32_t *id);

/* What a path says of an image; texts by their numbers in the profile. */
struct mapped_path {
	uint64_t kind, space; /* enum image_kind, enum vaddr_space */
	uint32_t path, name;  /* 0: none */
};

/* These return 0 or -ENOMEM. An empty build-id has the number 0. */
int mapped_path_read(struct profile *profile, struct span path, struct mapped_path *out);
int mapped_build_read(struct profile *profile, struct span build_id, uint32_t *number);
int mapped_image_of(struct profile *profile, const struct mapped_path *path, uint32_t build_id,
		    uint32_t *id);
