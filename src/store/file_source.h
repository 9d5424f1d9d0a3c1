/*
 * file_source - the bytes of a profile file, behind a hardened SQLite
 * connection: a closed file wholly in memory, so that nobody can change it
 * under us; an open epoch through SQLite's own locks when it has a living
 * writer or a write-ahead log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "store/sqlite_guard.h"

struct error;

#define FILE_SOURCE_MAX_BYTES	 (UINT64_C(1) << 31)
#define FILE_SOURCE_HEADER_BYTES 100

struct file_source {
	struct guard guard;
	struct buffer bytes;
	char *name; /* as opened, "x.open" where only that was there */
	uint64_t file_bytes;
	bool is_open_epoch, being_written;
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
/* Borrows the bytes. */
int file_source_of_bytes(struct file_source *source, const void *bytes, size_t size,
			 const char *name, struct error *err);
void file_source_close(struct file_source *source); /* for CLEANUP(); also right for a zeroed one */
