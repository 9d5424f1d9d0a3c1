/*
 * database_prune - retention: removes old epochs of a database, and the code that no epoch needs
 * any more. A daemon calls it each hour.
 *
 * Only what has a name of ours (database_epochs.h, stash_pack.h) is removed, only regular files in
 * folders of ours or root's, and nothing through a link. Of each host the last epochs stay, and so
 * does an open one whose writer lives. What was put aside as damaged (database_damaged.h) is in no
 * report: it goes before any epoch, but not within the grace. Epochs go next, and then packs:
 * killed at any moment, it leaves a database that reads right, of which the next call removes the
 * rest. Readers of what goes meanwhile do without it (database_read()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define DATABASE_KEPT_EPOCHS 3 /* of each host: they are never removed */
/* How old a pack is at least that goes: whoever copies a database into another may have copied the
 * packs and not yet the epochs that need them. */
#define DATABASE_PACK_GRACE_NS (UINT64_C(24) * 3600 * 1000000000)

struct database_removal {
	const char *path;	  /* EPOCH.damaged also has a host and an epoch */
	const char *host, *epoch; /* NULL: the packs of an image */
	uint64_t bytes;
};

struct database_retention {
	uint64_t older_than_ns; /* epochs that ended, and damaged ones that were put aside, longer
				   ago go; 0: none goes for its age */
	uint64_t most_bytes;	/* the oldest closed epochs go until all fits in; 0: no limit */
	uint64_t grace_ns;	/* as DATABASE_PACK_GRACE_NS, which a caller has to fill in */
	bool dry_run;		/* nothing is removed, but all is told */
	uint64_t now_ns;	/* since 1970; 0: the clock's */
	/* Called with what is removed, and with a sentence about what cannot be. Both may be NULL.
	 */
	void (*removed)(void *context, const struct database_removal *removal);
	void (*note)(void *context, const char *sentence);
	/* Whether to leave the rest for another time; asked before each host and the packs. May be
	 * NULL. */
	bool (*stop)(void *context);
	void *context;
};

/* Bytes are those of files, each rounded up to whole 4 KiB, as most file systems have it. */
struct database_pruned {
	uint64_t damaged, damaged_bytes;
	uint64_t epochs, epoch_bytes;
	uint64_t packs, pack_bytes;
	uint64_t left_bytes;
	bool fits; /* left_bytes is at most most_bytes, or there is no limit */
};

/* 0 or a negative errno value with *err; *pruned says what was removed in any case. */
int database_prune(const char *database, const struct database_retention *retention,
		   struct database_pruned *pruned, struct error *err);
