/*
 * source_files - lines of source files that debug information names. A file is
 * read once, when it is first needed; one that is not there or may not be read has no
 * lines. Paths come from strangers, and what is read is shown on a screen: so a
 * program must not choose which of the user's files are seen there. Read are only files that
 * everybody may read, and those of the user, unless that is root; below a folder that the
 * user named also those of the folder's owner, and no link leads out of it
 * (symbol/safe_open.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash_index.h"
#include "base/span.h"

struct reader;

#define SOURCE_FILE_LIMIT (32u << 20)

struct source_files {
	/* look for paths below this folder, and for those that lie in it also at the path itself;
	   NULL: at the path itself */
	const char *root;
	uint64_t start_ns; /* of the recording, since 1970; later files may not be what was compiled
			    */
	struct source_file *list;
	size_t count, capacity;
	struct hash_index index; /* by name */
	struct reader *reader;	 /* since the first file */
	char *folder;		 /* `root`, as an absolute path */
	bool failed;		 /* nothing can be opened: `refused` says why */
	size_t refused_count;	 /* files that are there and were not read */
	struct error refused;	 /* the first one's reason */
};

void source_files_release(struct source_files *files);
/* One line without its end; empty: it is not known. A listing_source; `files` is a struct
 * source_files. */
struct span source_files_line(void *files, const char *file, uint32_t line);
/* The number of files that were changed after the recording began; *first is one of them. */
size_t source_files_newer(const struct source_files *files, const char **first);
/* The number of files that are there and were not read; *reason is a sentence about the first. */
size_t source_files_refused(const struct source_files *files, const char **reason);
