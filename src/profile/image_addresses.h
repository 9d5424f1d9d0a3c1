/*
 * image_addresses - every vaddr of an image that occurs in a profile: in samples,
 * stacks, branches, ranges and values. A return address is listed as the byte before
 * it, which belongs to the call.
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

/* Lists the addresses of the images whose wanted[id] is set; `wanted` has a place for each id and
 * for 0. Fills a zeroed *out, which the caller releases also after an error. 0 or -ENOMEM. */
int image_addresses_collect(const struct profile *profile, const bool *wanted,
			    struct image_addresses *out);
void image_addresses_release(struct image_addresses *addresses); /* for CLEANUP() */
/* How many addresses from position `from` on are of the image of the one there. */
size_t image_addresses_run(const struct image_addresses *addresses, size_t from);
/* The addresses of one image: *count of them; NULL and 0 when there is none. */
const struct image_address *image_addresses_of(const struct image_addresses *addresses,
					       uint32_t image, size_t *count);
/* Whether an address of the list, as image_addresses_of() gives it, is from `first` to `last`. */
bool image_addresses_hit(const struct image_address *list, size_t count, uint64_t first,
			 uint64_t last);
