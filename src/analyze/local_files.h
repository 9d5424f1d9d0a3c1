/*
 * local_files - for a profile whose stash is silent on some images: asks this
 * machine's files, of the same build-id (or content) only, about the addresses
 * in the profile. The answers are a stash of their own, with the same image ids.
 */
#pragma once

#include <stddef.h>

struct error;
struct profile;
struct resolver_options;
struct stash_index;

/* One sentence about an image that could not be read; the text is the caller's to copy. */
typedef void (*local_files_note)(void *context, const char *sentence);

/*
 * Stores in *out a profile that the caller frees, with images of `profile` and a
 * stash. Images that `known` has are not looked for. What cannot be had is noted.
 * Returns 0 or -ENOMEM.
 */
int local_files_gather(const struct profile *profile, const struct stash_index *known,
		       const struct resolver_options *options, local_files_note note, void *context,
		       struct profile **out);
