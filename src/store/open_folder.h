/*
 * open_folder - the folder NAME.open of an open epoch (epoch.h): only its recorder
 * writes in it; it holds SQLite's `profile` and its log `profile-wal`.
 *
 * It is made under a name that nobody can guess (passing_name.h), and renamed to NAME.open
 * once the profile in it is whole and locked; it is renamed back before it is emptied. So
 * NAME.open is there whole or not at all, and what somebody else makes under the name is
 * never mistaken for ours. Everything in it is reached through its descriptor: a process
 * that has one is not affected when the folder is renamed or replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;
struct sqlite3;

#define OPEN_FOLDER_PROFILE "profile"
#define OPEN_FOLDER_LOG	    "profile-wal"

struct open_folder {
	char *path;	    /* NAME.open */
	int parent, folder; /* descriptors */
	int profile;	    /* another, which holds the lock; -1 in a leftover without a profile */
};
#define OPEN_FOLDER_NONE                                                                           \
	{                                                                                          \
		.parent = -1, .folder = -1, .profile = -1                                          \
	}

/*
 * Makes the folder `path` with these bytes as its profile, of mode `mode`, locked. 0;
 * -EEXIST when something of that name is there, without *err; or another negative errno
 * value, with *err. After an error nothing is left behind.
 */
int open_folder_make(const char *path, mode_t mode, const void *bytes, size_t size,
		     struct open_folder *out, struct error *err);

/*
 * Opens and locks the folder that a dead recorder of the same user left at `path`. 0; -ENOENT:
 * nothing is there, without *err; -EBUSY: its recorder lives; -EPERM: it is another
 * user's, or others may write in it; -ENOTDIR, -EPROTO: it is no folder, or the profile in it no
 * file; with *err.
 */
int open_folder_reopen(const char *path, struct open_folder *out, struct error *err);

/* Removes the folder with all that SQLite has in it. 0 or a negative errno value with *err;
 * -ENOTEMPTY: there is more in it, and that stays, under the same name. */
int open_folder_remove(struct open_folder *folder, struct error *err);

/* Closes the descriptors and frees the path; the folder stays. Does nothing to OPEN_FOLDER_NONE or
 * a released one. For CLEANUP(). */
void open_folder_release(struct open_folder *folder);

/*
 * Opens SQLite over the profile, in WAL mode. Only one process may do so: the index of the
 * log is in this process's memory, not in a file (-shm) that another could cut short.
 * Returns an SQLite result code; the caller closes *db in any case.
 */
int open_folder_sqlite(const struct open_folder *folder, struct sqlite3 **db);

/*
 * Between the two calls no reader has the files: the log is about to be written into the
 * profile. False when a reader still has them after 50 ms.
 */
bool open_folder_lock_readers(const struct open_folder *folder);
void open_folder_unlock_readers(const struct open_folder *folder);

/* ---- for readers; `profile` is a descriptor open for reading */

/* Whether a recorder that lives has it locked. */
bool open_folder_has_writer(int profile);
/* From here until open_folder_end_read(), or until `profile` is closed, the files do not change,
 * except that the log may grow. 0, or -EBUSY after two seconds. */
int open_folder_begin_read(int profile);
void open_folder_end_read(int profile);
