/*
 * image_claims - what the files of a profile claim to be: two may have one name or build-id and be
 * different files all the same, and one that another user can write tells what that user likes.
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
	struct span path;   /* the best of its paths, else its name; empty: none */
	struct span base;   /* the last part of it, without " (deleted)" */
	const char *suffix; /* what its name needs to be told from another's, or NULL */
};

struct image_claims {
	const struct profile *profile;
	struct image_claim *list; /* by image, from the first on; of other kinds without a path */
	size_t count;
};

/* Texts that are made lie in the arena. 0 or -ENOMEM. */
int image_claims_init(struct image_claims *claims, const struct profile *profile,
		      struct arena *arena);
void image_claims_release(struct image_claims *claims);

/* "libc.so.6", or "libc.so.6 (uid 1000: /tmp/libc.so.6)" where that is needed; NULL: it has no path
 * to be called after, or out of memory. */
const char *image_claims_name(const struct image_claims *claims, uint32_t image,
			      struct arena *arena);

/* Sentences about all of them. 0 or -ENOMEM. */
int image_claims_tell(const struct image_claims *claims,
		      void (*note)(void *context, const char *sentence), void *context);
