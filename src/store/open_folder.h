/*
 * open_folder - where an open epoch lives: NAME.open, a folder of the recorder
 * alone, with SQLite's `profile` and its log `profile-wal` (epoch.h).
 *
 * It is made under a name that nobody can guess, and gets its own when the
 * profile in it is whole and locked; it goes the same way. So NAME.open is there
 * whole or not at all, and what somebody else makes under the name is never taken
 * for ours. Everything in it is reached through its descriptor: renaming it or
 * putting something in its place changes nothing for who has it.
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
	char *path; /* NAME.open */
	int parent, folder;
	int profile; /* holds the lock; -1 in a leftover without a profile */
};
#define OPEN_FOLDER_NONE                                                                           \
	{                                                                                          \
		.parent = -1, .folder = -1, .profile = -1                                          \
	}

/*
 * Makes it with these bytes as its profile, of mode `mode`, locked. -EEXIST when
 * something of that name is there, without *err; else what failed, with *err,
 * and nothing is left.
 */
int open_folder_make(const char *path, mode_t mode, const void *bytes, size_t size,
		     struct open_folder *out, struct error *err);

/*
 * Takes over what a dead recorder of the same user left there. -ENOENT: nothing
 * is there, without *err; -EBUSY: its recorder lives; -EPERM: it is another
 * user's, or others may write in it; -ENOTDIR: it is no folder; with *err.
 */
int open_folder_take(const char *path, struct open_folder *out, struct error *err);

/* Removes it with all that SQLite has in it. 0 or a negative errno value with *err. */
int open_folder_remove(struct open_folder *folder, struct error *err);

/* Leaves what is there. Of a zeroed or released one: nothing. For CLEANUP(). */
void open_folder_release(struct open_folder *folder);

/*
 * SQLite over the profile, in WAL mode, for the only process that looks at it by
 * SQLite: the index of the log is in this process's memory, not in a file (-shm)
 * that another could cut short. An SQLite result code.
 */
int open_folder_sqlite(const struct open_folder *folder, struct sqlite3 **db);

/*
 * Between the two nobody reads the files: the log is about to be laid over the
 * profile. False when a reader holds on to them.
 */
bool open_folder_lock_readers(const struct open_folder *folder);
void open_folder_unlock_readers(const struct open_folder *folder);

/* ---- for readers; `profile` is open for reading */

/* It has a recorder that lives. */
bool open_folder_has_writer(int profile);
/* The files stay what they are until it is closed or unlocked, but for what is added to the log. 0,
 * or -EBUSY after two seconds. */
int open_folder_begin_read(int profile);
void open_folder_end_read(int profile);
