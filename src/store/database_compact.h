/*
 * database_compact - makes the old epochs of a day one, so that a database grows with what ran and
 * not with time. Nothing is lost but when in the day it ran: counts are added as in any merge, and
 * the table "source" keeps a row for each epoch that there was.
 *
 * Epochs become one that are of one host's folder, began on one day (UTC), and whose sources differ
 * in nothing but their times: one boot, one configuration, one command line, the same labels. The
 * new file is called after its first start, "+" and a hash of its bytes: so files with one name are
 * equal, wherever they were made, and copying stays union.
 *
 * The new file is written under a passing name, synced, renamed, read again, and only then the
 * parts are removed. While both are there, also because the parts were copied in again, readers
 * leave out what is in the other (database_replaced.h), which its sources tell. So it may be killed
 * at any moment, and the next call removes the parts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define DATABASE_COMPACT_AGE_NS (UINT64_C(7) * 86400 * 1000000000)

struct database_compaction {
	uint64_t older_than_ns; /* days that ended longer ago, as DATABASE_COMPACT_AGE_NS */
	bool dry_run;	 /* nothing is changed; what would be made is told without its name */
	uint64_t now_ns; /* since 1970; 0: the clock's */
	/* Called with each epoch that was made, of so many others, and with a sentence about what
	 * could not be. Both may be NULL. */
	void (*made)(void *context, const char *host, const char *epoch, size_t parts);
	void (*note)(void *context, const char *sentence);
	/* Whether to leave the rest for another time; asked before each epoch that is made, and
	 * each image's packs. May be NULL. */
	bool (*stop)(void *context);
	void *context;
};

struct database_compacted {
	uint64_t made, parts;		       /* epochs that were written, and removed */
	uint64_t written_bytes, parts_bytes;   /* of these files; written_bytes is 0 in a dry run */
	uint64_t packs_written, packs_removed; /* as pack_files_merge() */
};

/* 0 or a negative errno value with *err; *compacted says what was done in any case. On a full disk
 * nothing is removed that is not in another file. */
int database_compact(const char *database, const struct database_compaction *compaction,
		     struct database_compacted *compacted, struct error *err);
