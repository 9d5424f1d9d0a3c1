/*
 * database_damaged - what lies in a database as EPOCH.damaged: leftovers of killed writers that
 * could not be closed (database_open_epoch_with()). No report has them, but they take room. For
 * what removes files (database_prune.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct damaged_epoch {
	const char *host; /* the caller's */
	char *name;	  /* of the epoch */
	char *path;
	uint64_t bytes;	   /* on disk */
	uint64_t since_ns; /* since 1970: when its inode last changed, as by being put aside; nobody
			      can set that */
	bool is_folder;	   /* else a regular file */
};

struct damaged_epochs {
	struct damaged_epoch *list; /* the oldest first, once all hosts are read */
	size_t count, capacity;
};
void damaged_epochs_release(
	struct damaged_epochs *damaged); /* for CLEANUP(); also right for a zeroed one */

/*
 * Adds those of one host, whose name has to live as long as the list. Only names that
 * database_open_epoch_with() gives count, and only folders and regular files. 0 or -ENOMEM.
 */
int damaged_epochs_read(struct damaged_epochs *damaged, const char *database, const char *host);

/* Removes it: a file, or a folder with what a writer has in it. 0, also when it is gone; or a
 * negative errno value with *err, and it stays. */
int damaged_epoch_remove(const char *database, const struct damaged_epoch *epoch,
			 struct error *err);
