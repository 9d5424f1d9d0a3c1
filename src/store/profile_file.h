/*
 * profile_file - one profile in one file, closed: canonical bytes under a seal
 * (docs/profile-format.md). Such a file never changes; it is replaced by rename.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct error;
struct profile;
struct profile_waiter;

/* What is known of a file beside its content. */
struct profile_file_info {
	bool cut_off;	      /* read from a leftover open epoch: the recording did not end well */
	bool being_written;   /* the open epoch has a living writer */
	uint64_t file_bytes;  /* the file, and what counts of its log */
	uint64_t stash_bytes; /* part of file_bytes: the stash's rows and their contents */
	unsigned unknown_tables; /* tables that this version does not know, kept by their
				    declaration */
};

/*
 * Reads `path`, a file or the folder of an open epoch. When only `path`.open is
 * there (a recording that was killed, or one that still runs), reads what was merged into it and
 * says so in *info, which may be NULL. The bytes are a stranger's: nothing in them is trusted.
 * Returns 0 and stores a profile that the caller frees; or -ENOENT, -EACCES,
 * -EBADMSG (damaged, truncated, or its seal is broken), -EPROTO (no profile of
 * ours), -EPROTONOSUPPORT (of a newer version), -ENOMEM, and fills *err with
 * one sentence that names the file.
 */
int profile_file_read(const char *path, struct profile **out, struct profile_file_info *info,
		      struct error *err);

/* The open epoch in a folder (open_folder.h), which stays the caller's; `name` is for messages. */
int profile_file_read_folder(int folder, const char *name, struct profile **out, struct error *err);

/*
 * Which part to read. PROFILE_FILE_WITHOUT_CODE leaves out of the stash code bytes
 * (RECORD_CODE), what it takes to follow them (kinds above RECORD_LINES) and kinds that
 * this version does not know: where their contents are stored apart, as in closed files,
 * they are not unpacked, and the stash lacks their rows. The seal is checked all the
 * same. Such a profile is for reports alone: written or merged, it lacks the code.
 */
enum profile_file_part { PROFILE_FILE_WHOLE, PROFILE_FILE_WITHOUT_CODE };
int profile_file_read_part(const char *path, enum profile_file_part part, struct profile **out,
			   struct profile_file_info *info, struct error *err);
int profile_file_decode_part(const void *bytes, size_t size, const char *name,
			     enum profile_file_part part, struct profile **out,
			     struct profile_file_info *info, struct error *err);

/* As profile_file_read(), but the last part of the path may be no link (-ELOOP). */
int profile_file_read_unlinked(const char *path, struct profile **out,
			       struct profile_file_info *info, struct error *err);
/*
 * Reads the table "source" of a closed file into a profile without any other row. Only
 * the pages that lead there are read, however long the recording, so the seal, which
 * covers the whole file, is not checked. An open epoch, and what is no profile, is read
 * whole, as profile_file_read_unlinked(). `info` is not NULL; it has no stash bytes.
 */
int profile_file_read_sources(const char *path, struct profile **out,
			      struct profile_file_info *info, struct error *err);

/* The same with the table "image": what the epoch needs the stash of. */
int profile_file_read_images(const char *path, struct profile **out, struct profile_file_info *info,
			     struct error *err);

/*
 * Writes the canonical form of `profile` beside `path`, syncs it, renames it
 * over `path` and syncs the folder: at every moment `path` is the old file or
 * the new one, whole. Mode 0600. Fails with the negative errno; nothing is left behind.
 */
int profile_file_write(const char *path, const struct profile *profile, struct error *err);

/*
 * The bytes of a closed file, appended to `out`, and back. Bytes that are read
 * stay the caller's, unchanged; `name` is for messages. Errors as above.
 */
int profile_file_encode(const struct profile *profile, struct buffer *out, struct error *err);
int profile_file_decode(const void *bytes, size_t size, const char *name, struct profile **out,
			struct profile_file_info *info, struct error *err);
/* As profile_file_encode(), but -ECANCELED once `waiter` (profile_writer.h; may be NULL) is gone.
 */
int profile_file_encode_for(const struct profile_waiter *waiter, const struct profile *profile,
			    struct buffer *out, struct error *err);
