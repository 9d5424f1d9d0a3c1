/*
 * local_files - for a profile whose stash is silent on some images: asks this
 * machine's files about the addresses in the profile, those of the same build-id
 * (or content) only, or of the same name where the build is not known and symfs
 * names the folder. The answers are a stash of their own, with the same image ids.
 *
 * A file is read once for all images that are it, however the profile spells its path; they then
 * share the records, which are about the addresses of all of them. Reading has a time
 * (LOCAL_FILES_TIME_NS); what is left when that is used up stays unread, and a note says so.
 *
 * An image whose addresses are not those of its file's own space (offsets, or
 * counted from the start of a kernel's text) gets a translation: its records then
 * are in the file's space, and its addresses are to be translated before they
 * are looked up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/identity.h"

struct error;
struct profile;
struct resolver_options;
struct stash_index;

/* How long the helpers that find and read files may be waited for, for one profile: what real
 * recordings stay far below (20 s is what a single file may take). */
#define LOCAL_FILES_TIME_NS (UINT64_C(60) * 1000000000)

/* One sentence about an image that could not be read; the text is the caller's to copy. */
typedef void (*local_files_note)(void *context, const char *sentence);

/* What was found of an image. */
struct local_image {
	bool found;		/* the stash has its functions */
	uint32_t records_of;	/* the image that the stash has them under; 0: its own id */
	uint16_t machine;	/* EM_* of its file; 0: not known */
	uint32_t segment_count; /* of the translation; 0: there is none */
	struct identity_segment *segments;
};

struct local_files {
	struct profile *stash;
	struct local_image *images; /* by image id - 1 */
	size_t image_count;
};

/*
 * Fills *out, which the caller releases. Images that `known` has are not looked for, but those
 * whose addresses are offsets: the stash then has names alone. What cannot be had is noted.
 * Returns 0 or -ENOMEM.
 */
int local_files_gather(const struct profile *profile, const struct stash_index *known,
		       const struct resolver_options *options, local_files_note note, void *context,
		       struct local_files *out);
void local_files_release(struct local_files *files); /* also right for a zeroed one */

/* The address in the image's own space as one of its file's; itself when there is no translation.
 * False when no part of the file lies there. */
bool local_image_translate(const struct local_image *image, uint64_t *vaddr);
