/*
 * file_source - the bytes of a profile behind a hardened SQLite connection
 * (sqlite_guard.h), wholly in memory, so that nobody can change them meanwhile. They come
 * from a closed file, or from an open epoch (open_folder.h) with its log laid over it,
 * which needs no right but to read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store/sqlite_guard.h"

struct error;

#define FILE_SOURCE_MAX_BYTES (UINT64_C(1) << 31)

struct file_source {
	struct guard guard;
	struct buffer bytes;
	char *name;		/* for messages: the path that was opened, maybe "x.open" */
	uint64_t file_bytes;	/* with the part of its log that counts */
	uint64_t content_bytes; /* of these, in pages that are not empty: holes allow no memory */
	uint64_t granted;	/* private: bytes of the file that the budget has counted */
	bool is_open_epoch, being_written;
	bool no_links; /* the caller's, before opening: the path's last part may be no link */
	/* Set by file_source_open_damaged(). */
	void (*fault)(void *context, const char *sentence);
	void *fault_context;
};

/* Opens `path`, or `path`.open when only that is there. *source is zeroed before, but for no_links.
 * 0, or errors as profile_file_read(). */
int file_source_open(struct file_source *source, const char *path, struct error *err);
/*
 * As file_source_open(), but goes on with a file that is shorter or longer than
 * its header says, and calls `fault` about it.
 */
int file_source_open_damaged(struct file_source *source, const char *path,
			     void (*fault)(void *context, const char *sentence), void *context,
			     struct error *err);
/* Opens the open epoch in this folder, which stays the caller's; `name` is for messages. */
int file_source_open_folder(struct file_source *source, int folder, const char *name,
			    struct error *err);
/* Opens bytes in memory, which are borrowed and do not change. */
int file_source_of_bytes(struct file_source *source, const void *bytes, size_t size,
			 const char *name, struct error *err);
void file_source_close(struct file_source *source); /* for CLEANUP(); also right for a zeroed one */

/*
 * Opens a closed file whose pages are read when SQLite asks for them (page_file.h), so that the
 * file is not in memory. -EAGAIN without *err when it is no closed file: file_source_open() says
 * what it is. Other errors as there.
 */
int file_source_open_pages(struct file_source *source, const char *path, struct error *err);

/* Whether a folder is that of an open epoch, or of one that was put aside as damaged, which
 * profile_file_read() reads, and no database. */
bool file_source_is_open_folder(const char *path);

/* Whether the first bytes of a file are those of a profile (at least 100 of them, or the whole
 * file). */
bool file_source_recognise(const void *bytes, size_t size);
