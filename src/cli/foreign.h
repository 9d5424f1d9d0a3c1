/*
 * foreign - files of other tools, read into a profile; remarks of their readers go to
 * stderr. Every command that takes a profile takes them too.
 */
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

struct error;
struct profile;

struct foreign_options {
	const char *event, *unit; /* names for counts without one; NULL: the format's own */
	bool one_count;		  /* of folded text */
	bool force;		  /* keep what comes before a fault */
	const char *symfs;
	const char *format; /* of the table of formats; NULL: by content */
};

/*
 * Reads the file whose first bytes are in `head` (which it empties) and whose rest
 * comes from `fd`. `path` names it in messages, and files beside it are looked for there;
 * "-" is standard input. Returns 0 and a profile that the caller frees, or
 * a negative errno with *err, whose text begins with the file's name. A damaged file is read
 * a second time, to say whether --force would give a profile.
 */
int foreign_read(int fd, const char *path, struct buffer *head,
		 const struct foreign_options *options, struct profile **out, struct error *err);
/* Appends bytes of `fd` until *head has `limit` or the file ends. 0 or a negative errno. */
int foreign_read_head(int fd, struct buffer *head, size_t limit);
/* Where perf keeps binaries by build-id, "~/.debug"; the caller frees it. NULL without a home. */
char *foreign_perf_cache(void);
/* What messages call a path: itself, or "standard input" for "-". */
const char *foreign_name(const char *path);
