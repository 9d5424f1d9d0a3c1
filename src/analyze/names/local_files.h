/*
 * local_files - names, lines and code from files of this machine, for the images that a
 * profile's own stash has nothing of. A file is read for an image only if it has the
 * same build-id (or content), or the same name where the profile knows no build and
 * symfs names the folder. What was read is a stash of its own, with the same image ids.
 *
 * A file is read once for all images that are the same file, however the profile spells its path;
 * they share the records, which cover the addresses of all of them. Reading may take
 * LOCAL_FILES_TIME_NS; what is unread by then stays so, and a note says so.
 *
 * An image whose addresses are no vaddrs of its file (but offsets, or counted from the
 * start of a kernel's text) gets a translation: its records are by vaddr, and its
 * addresses have to be translated before they are looked up.
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

/* How long finding and reading files may take for one profile. Real recordings stay far below; a
 * single file may take 20 s. */
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
 * Fills *out, which the caller releases. `known` is the profile's own stash: images that it has are
 * skipped, except those whose addresses are offsets, of which it has names alone. Calls `note` with
 * what was not found or not read. Returns 0 or -ENOMEM.
 */
int local_files_gather(const struct profile *profile, const struct stash_index *known,
		       const struct resolver_options *options, local_files_note note, void *context,
		       struct local_files *out);
void local_files_release(struct local_files *files); /* also right for a zeroed one */

/* Makes an address of the image a vaddr of its file; without a translation it stays as it is.
 * False: no part of the file is there. */
bool local_image_translate(const struct local_image *image, uint64_t *vaddr);
