/*
 * image_claims - what the files of a profile claim to be: two may have one name or build-id and be
 * different files all the same, and one that another user can write claims what that user wants.
 * Reports show such files apart, and say so.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct arena;
struct profile;

struct image_claim {
	uint32_t image;
	struct span path;   /* the best of its paths, else its name; empty: none, or no file */
	struct span base;   /* the last part of it, without " (deleted)" */
	const char *suffix; /* follows its name to tell it from another's; NULL: not needed */
};

struct image_claims {
	const struct profile *profile;
	struct image_claim *list; /* by image id - 1 */
	size_t count;
};

/* Suffixes are kept in the arena; all else is borrowed from the profile. Returns 0 or -ENOMEM; to
 * be released in both cases. */
int image_claims_init(struct image_claims *claims, const struct profile *profile,
		      struct arena *arena);
void image_claims_release(struct image_claims *claims);

/* "libc.so.6", or "libc.so.6 (uid 1000: /tmp/libc.so.6)" where that is needed. NULL: the image has
 * no path, or out of memory. */
const char *image_claims_name(const struct image_claims *claims, uint32_t image,
			      struct arena *arena);

/* Calls `note` with sentences for a report's foot: which files claim one build-id, and which ones
 * others can write. Returns 0 or -ENOMEM. */
int image_claims_note(const struct image_claims *claims,
		      void (*note)(void *context, const char *sentence), void *context);
