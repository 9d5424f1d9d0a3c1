/*
 * mapped_image - the image of a mapping that another tool names by a path, or what
 * stands in its place ("[vdso]"), and perhaps a build-id. A file's vaddrs are offsets
 * in it, since its program headers are not there.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

struct profile;

/* `build_id` as the tool writes it: hexadecimal, or a text of another kind (Go's). 0 or -ENOMEM. */
int mapped_image_add(struct profile *profile, struct span path, struct span build_id, uint32_t *id);
