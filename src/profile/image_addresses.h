/*
 * image_addresses - the addresses of images that a profile speaks of: of samples,
 * stacks, branches, ranges and values. Of a return address it is the byte
 * before, which belongs to the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

struct image_address {
	uint32_t image; /* id */
	uint64_t vaddr;
};

struct image_addresses {
	struct image_address *list; /* by image and vaddr, each once */
	size_t count;
};

/* Of the images with wanted[id], which has a place for each id and 0. Fills a zeroed *out that the
 * caller releases. 0 or -ENOMEM. */
int image_addresses_collect(const struct profile *profile, const bool *wanted,
			    struct image_addresses *out);
void image_addresses_release(struct image_addresses *addresses); /* for CLEANUP() */
/* How many from `from` on are of the same image as that one. */
size_t image_addresses_run(const struct image_addresses *addresses, size_t from);
/* Those of one image: *count of them, maybe 0. */
const struct image_address *image_addresses_of(const struct image_addresses *addresses,
					       uint32_t image, size_t *count);
/* Is one of them (as image_addresses_of() gives them) from `first` to `last`? */
bool image_addresses_hit(const struct image_address *list, size_t count, uint64_t first,
			 uint64_t last);
