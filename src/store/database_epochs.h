/*
 * database_epochs - the epochs in the folder of a host, by the names of their files
 * (database.h), and what can be known of each without opening it.
 *
 * A name begins with the second in which the epoch began, as 20260131T120000Z. Behind that stand
 * nothing; "-" and a number, of several in one second; or "+" and 16 hexadecimal digits, of an
 * epoch that was made of others (database_compact.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"

#define EPOCH_CLOSED_ENDING ".prof"
#define EPOCH_OPEN_ENDING   ".open"
/* Of a leftover that could not be closed. It is no epoch: who wants to see it names it. */
#define EPOCH_DAMAGED_ENDING ".damaged"

/* Whether a file's name, or its path, is more than that ending and has it. */
static inline bool epoch_name_ends_with(struct span name, const char *ending)
{
	return name.size > strlen(ending) && span_ends_with(name, ending);
}

/*
 * How far a clock may be wrong that was set meanwhile, and an epoch named earlier or later than its
 * first sample: times from names and from files are believed but for that.
 */
#define EPOCH_TIME_SLACK_NS UINT64_C(600000000000)

enum epoch_naming {
	EPOCH_NAME_OTHER, /* chosen by somebody else: it says nothing */
	EPOCH_NAME_RECORDED,
	EPOCH_NAME_COMPACTED,
};

/* What kind of name that is; *start_ns (unless NULL) is the time in it, or 0. */
enum epoch_naming epoch_name_parse(const char *name, uint64_t *start_ns);
/* The first part of a name, for a time since 1970. */
#define EPOCH_STEM_BYTES 32
void epoch_name_stem(uint64_t start_ns, char stem[EPOCH_STEM_BYTES]);

struct epoch_file {
	char *name; /* of the epoch, without its ending */
	char *path;
	bool is_open, is_link;
	enum epoch_naming naming;
	uint64_t named_ns;   /* 0: the name says none */
	uint64_t written_ns; /* the file's time, which no epoch in it ends after; 0: it may not be
				believed */
	uint64_t bytes;	     /* 0: unknown */
};

struct epoch_files {
	struct epoch_file *list; /* by name */
	size_t count, capacity;
};
void epoch_files_release(
	struct epoch_files *files); /* for CLEANUP(); also right for a zeroed one */

/*
 * Lists a host's folder. An open epoch whose closed file is there as well is left out: its writer
 * died between closing and cleaning up. 0 or a negative errno value; -ENOTDIR also for a link.
 */
int epoch_files_read(struct epoch_files *files, const char *folder);

/* Drops those that are not to be kept. */
void epoch_files_keep(struct epoch_files *files,
		      bool (*is_kept)(const void *context, const struct epoch_file *file),
		      const void *context);

/* The closed file that an open epoch becomes. The caller frees it; NULL: out of memory. */
char *epoch_closed_path(const struct epoch_file *open);

/* Whether a closed file that was written, or an epoch that was named, then cannot overlap the
 * times; 0 means no limit. */
bool epoch_file_is_outside(const struct epoch_file *file, uint64_t since_ns, uint64_t until_ns);
