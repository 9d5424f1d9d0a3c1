/*
 * database - epochs of many hosts in one folder:
 *
 *	DB/HOST/EPOCH.prof	closed epochs (profile_file.h), without their stash
 *	DB/HOST/EPOCH.open	the one being collected, a folder (open_folder.h)
 *	DB/images/IMAGE/HASH	the stash of all of them (stash_pack.h)
 *
 * Closed files and packs never change and have names of their own, so copying
 * one database over another (rsync, cp -n) is their union. Folders are 0750,
 * files 0640; in another user's folder a database is 0700, and one that another
 * user made is not written into.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct epoch;
struct error;
struct profile;
struct verify_report;

/* Whether `path` is a folder with at least one thing of a database in it. */
bool database_recognise(const char *path);

/* Plain names that can be folders: no '/', not beginning with '.', not "images". */
bool database_host_is_usable(const char *host);

/*
 * Begins an epoch of `host`, named after `start_ns` (since 1970), making folders
 * as needed. Epochs of that host whose writer was killed are closed first. Closing
 * the epoch (epoch_close()) puts its stash under DB/images. Errors as epoch_open().
 */
int database_open_epoch(const char *database, const char *host, uint64_t start_ns,
			struct epoch **out, struct error *err);

/* Which epochs; everything absent (NULL, 0) selects all. */
struct database_selection {
	const char *const *hosts;
	size_t host_count;
	const char *const *epochs; /* names, as "20260131T120000Z" */
	size_t epoch_count;
	uint64_t since_ns, until_ns; /* since 1970; an epoch that overlaps is in */
	bool whole;		     /* database_list() reads each epoch whole: it verifies it and
					counts its samples */
	/*
	 * Called with a sentence about each epoch or pack of the stash that cannot be read,
	 * which is left out. NULL: it is an error.
	 */
	void (*note)(void *context, const char *sentence);
	void *note_context;
};

struct database_entry {
	char *host, *epoch; /* names */
	char *path;
	uint64_t start_ns,
		duration_ns; /* the earliest source's start, the longest duration; 0: unknown */
	uint64_t samples;    /* of table "flat" */
	bool has_samples;    /* else nobody counted them, or its events have estimates alone */
	uint64_t file_bytes; /* 0: unknown */
	bool is_open, being_written;
	bool is_link;	 /* not followed */
	bool readable;	 /* else only host, epoch, path and file_bytes are known */
	char fault[256]; /* why not */
};
struct database_list {
	struct database_entry *entries; /* by host, then start, then name */
	size_t count;
	size_t capacity;
};
void database_list_release(
	struct database_list *list); /* for CLEANUP(); also right for a zeroed one */
/*
 * Lists the selected epochs. Only the table "source" of their files is read, so the cost
 * follows the number of epochs and not their size; damage elsewhere in a file is not
 * found, and `samples` are not known. With selection->whole files are read whole, and
 * both are. Unreadable epochs are listed as such. `selection` may be NULL: all.
 */
int database_list(const char *database, const struct database_selection *selection,
		  struct database_list *list, struct error *err);

/*
 * Reads the selected epochs as one profile, with the stash of their images. Of epochs outside
 * the times of the selection only the table "source" is read. `selection` may be NULL: all.
 * -ENOENT when no epoch is selected.
 */
int database_read(const char *database, const struct database_selection *selection,
		  struct profile **out, struct error *err);
