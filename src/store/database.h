/*
 * database - epochs of many hosts in one folder:
 *
 *	DB/HOST/EPOCH.prof	closed epochs (profile_file.h), without their stash
 *	DB/HOST/EPOCH.open	the one being collected, a folder (open_folder.h)
 *	DB/HOST/EPOCH.damaged	one that a killed writer left, and that cannot be closed
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

/*
 * Begins an epoch of `host`, named after `start_ns` (since 1970), making folders
 * as needed. Epochs of that host whose writer was killed are closed first. Closing
 * the epoch (epoch_close()) puts its stash under DB/images. Errors as epoch_open().
 */
int database_open_epoch(const char *database, const char *host, uint64_t start_ns,
			struct epoch **out, struct error *err);

enum database_leftover { DATABASE_LEFTOVER_MOVED, DATABASE_LEFTOVER_STAYS };
/*
 * The same, with a call for each leftover that cannot be closed: it keeps all its bytes, as
 * EPOCH.damaged or, where it is another user's or of a newer version, in its place. Only for want
 * of room, memory or descriptors no epoch is begun. `listener` may be NULL.
 */
struct database_listener {
	/* One sentence without a full stop. What stays is there again when the next epoch begins.
	 */
	void (*say)(void *context, enum database_leftover leftover, const char *sentence);
	void *context;
};
int database_open_epoch_with(const char *database, const char *host, uint64_t start_ns,
			     const struct database_listener *listener, struct epoch **out,
			     struct error *err);

/* Which epochs; everything absent (NULL, 0) selects all. */
struct database_selection {
	const char *const *hosts;
	size_t host_count;
	const char *const *epochs; /* names, as "20260131T120000Z" */
	size_t epoch_count;
	const char *const *labels; /* epochs that have one of these */
	size_t label_count;
	uint64_t since_ns, until_ns; /* since 1970; an epoch that overlaps is in */
	uint64_t apart_ns;	     /* an epoch that began before and ended after that is out */
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
	char *labels;			/* lines (profile/source_labels.h); NULL: unknown */
	uint64_t start_ns, duration_ns; /* from the first source's start to the last one's end;
					   start 0: unknown */
	uint64_t samples;    /* of table "flat" */
	bool has_samples;    /* else nobody counted them, or its events have estimates alone */
	uint64_t unsampled_ns; /* before it, estimated (BILL_UNSAMPLED_NS); 0: none is known of,
				  or nobody read that */
	uint64_t file_bytes; /* 0: unknown */
	bool is_open, being_written;
	bool is_link;	 /* not followed */
	bool replaced;	 /* all of it is in another epoch, and counts there (database_compact.h) */
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
 * found, and `samples` are not known. Files that cannot be of the times of the selection, by their
 * names and by when they were written (database_epochs.h), are not opened at all. With
 * selection->whole files are read whole, and both are. Unreadable epochs are listed as such.
 * `selection` may be NULL: all.
 */
int database_list(const char *database, const struct database_selection *selection,
		  struct database_list *list, struct error *err);

/*
 * Reads the selected epochs as one profile, with the stash of their images. Of epochs outside
 * the times of the selection at most the table "source" is read. One that is in another of them
 * (struct database_entry, `replaced`) counts once. Others may prune and compact meanwhile: what is
 * gone is looked for anew, and -EAGAIN after some attempts. `selection` may be NULL: all.
 * -ENOENT when no epoch is selected.
 */
int database_read(const char *database, const struct database_selection *selection,
		  struct profile **out, struct error *err);
