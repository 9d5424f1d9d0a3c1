/*
 * file_source - the bytes of a profile, behind a hardened SQLite connection and
 * wholly in memory, so that nobody can change them under us: a closed file, or an
 * open epoch (open_folder.h) with its log laid over it, for which it takes no
 * right but to read.
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
	char *name;		/* as opened, "x.open" where only that was there */
	uint64_t file_bytes;	/* with what counts of its log */
	uint64_t content_bytes; /* of these, in pages that are not empty: holes allow nothing */
	uint64_t granted;	/* private: how far the budget knows the file */
	bool is_open_epoch, being_written;
	bool no_links; /* set before it is opened: the path's last part may be no link */
	/* Set while a damaged file is opened. */
	void (*fault)(void *context, const char *sentence);
	void *fault_context;
};

/* `path`, or `path`.open when only that is there. Errors as profile_file_read(). */
int file_source_open(struct file_source *source, const char *path, struct error *err);
/*
 * As file_source_open(), but goes on with a file that is shorter or longer than
 * its header says; `fault` hears of it.
 */
int file_source_open_damaged(struct file_source *source, const char *path,
			     void (*fault)(void *context, const char *sentence), void *context,
			     struct error *err);
/* Of the open epoch in this folder, which stays the caller's; `name` is for messages. */
int file_source_open_folder(struct file_source *source, int folder, const char *name,
			    struct error *err);
/* Borrows the bytes. */
int file_source_of_bytes(struct file_source *source, const void *bytes, size_t size,
			 const char *name, struct error *err);
void file_source_close(struct file_source *source); /* for CLEANUP(); also right for a zeroed one */

/*
 * A closed file, whose pages are read as they are asked for, so that nothing of it is in memory
 * (page_file.h). -EAGAIN without a word when it is no closed file: then file_source_open() says
 * what it is. Other errors as there.
 */
int file_source_open_pages(struct file_source *source, const char *path, struct error *err);

/* Whether a folder is that of an open epoch, which profile_file_read() reads, and no database. */
bool file_source_is_open_folder(const char *path);

/* Whether the first bytes of a file are those of a profile (at least 100 of them, or the whole
 * file). */
bool file_source_recognise(const void *bytes, size_t size);
