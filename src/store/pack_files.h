/*
 * pack_files - packs of the stash (stash_pack.h) as files of one folder, DB/images/IMAGE.
 *
 * Packs pile up, since each epoch writes what the ones before did not know. pack_files_merge()
 * makes one of several small ones. It removes a pack only once another holds all its records
 * durably, so a reader who does not find a pack that was listed has to list again
 * (pack_files_read() does), and several processes may merge at once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/stash_pack.h"

struct error;
struct profile;

/* How the packs of a folder are read. */
struct pack_reading {
	void (*note)(void *context, const char *sentence); /* NULL: a fault is an error */
	void *note_context;
	stash_pack_accept accept; /* as stash_pack_decode() */
	void *context;
	struct profile *profile;
};

/* Reads each pack of a folder; that there is none is no fault. Faults go to reading->note, or are
 * an error. Only a pack whose name is the hash of its bytes may use memory (base/budget.h). Stores
 * in *count, unless NULL, how many there are. */
int pack_files_read(const struct pack_reading *reading, const char *folder, size_t *count,
		    struct error *err);

/* Reads the bytes of a pack and compares them with its name. 0; -EBADMSG, -ENOENT, ... with *err.
 */
struct buffer;
int pack_file_load(const char *path, const char *name, struct buffer *bytes, struct error *err);

/* Writes rows rows[0..count-1] of the table "stash", all of `image`, as packs that are no larger
 * than needed. Durable when it returns 0. */
int pack_files_write(const char *folder, const struct profile *profile, uint32_t image,
		     const uint32_t *rows, size_t count, struct error *err);

/* So many packs of an image are merged when an epoch is closed. */
#define PACK_FILES_MANY 4

/*
 * Merges packs where at least `least` small ones are. A pack is small that is at most twice as
 * large as all smaller ones together: so each byte is written anew about once each time that an
 * image's stash doubles. Others' and damaged packs, and those of earlier versions, stay. *removed,
 * *written (may be NULL) grow by the number of files. 0 or a negative errno value with *err;
 * whatever it returns, no record is lost.
 */
int pack_files_merge(const char *folder, size_t least, uint64_t *removed, uint64_t *written,
		     struct error *err);
