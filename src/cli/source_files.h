/*
 * source_files - lines of source files that debug information names. A file is
 * read once, when it is first asked for; one that is not there, is no regular
 * file or is too large has no lines. Paths come from strangers: nothing but
 * regular files is read, and what is read is only ever shown.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define SOURCE_FILE_LIMIT (32u << 20)

struct source_files {
	const char *root;  /* look below this folder instead; NULL: as the path says */
	uint64_t start_ns; /* of the recording, since 1970; later files may not be what was compiled
			    */
	struct source_file *list;
	size_t count, capacity;
};

void source_files_release(struct source_files *files);
/* As listing_source; `files` is a struct source_files. */
struct span source_files_line(void *files, const char *file, uint32_t line);
/* The number of files that were changed after the recording began; *first is one of them. */
size_t source_files_newer(const struct source_files *files, const char **first);
