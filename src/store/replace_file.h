/*
 * replace_file - a new whole file under an old name: written beside it, synced,
 * renamed over it, the folder synced. At every moment the name stands for the
 * old bytes or the new ones. What a killed writer left is called NAME.new. and ten
 * characters that nobody can guess (passing_name.h), and is removed by the next one.
 *
 * The folder is opened by output_folder_open(). replace_file_check() finds things under
 * NAME or NAME.old that cannot be replaced, before there is anything to lose.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "store/passing_name.h"

struct error;

enum replace_earlier {
	REPLACE_DROP,	/* the file that was there is replaced */
	REPLACE_KEEP,	/* it becomes NAME.old, in place of an older one */
	REPLACE_REFUSE, /* it is an error (-EEXIST) */
};

/* Fails with the negative errno and one sentence; nothing is left behind then. */
int replace_file(const char *path, const void *bytes, size_t size, mode_t mode,
		 enum replace_earlier earlier, struct error *err);

/* The same in pieces: begin, write as often as needed, commit. */
struct replacement {
	const char *path;		  /* borrowed */
	char passing[PASSING_NAME_BYTES]; /* its name until the end */
	int folder, fd;
	mode_t mode; /* at the end; 0600 until then, so that nobody can lock it */
	bool renamed;
};
/* Must be released in any case. Fails as replace_file() does. */
int replace_begin(const char *path, mode_t mode, struct replacement *made, struct error *err);
/* 0 or a negative errno value, without a message. */
int replace_write(struct replacement *made, const void *bytes, size_t size);
int replace_commit(struct replacement *made, enum replace_earlier earlier, struct error *err);
/* Removes the new file unless it was committed. For CLEANUP(). */
void replace_release(struct replacement *made);

/*
 * 0 when a regular file can be made or replaced under that name, and with
 * REPLACE_KEEP what is there can be kept; else -EISDIR, -ENXIO (a FIFO, a
 * device, a socket), -EPERM (another user's, in a sticky folder), or what the
 * folder says, with *err.
 */
int replace_file_check(const char *path, enum replace_earlier earlier, struct error *err);

/* Whether a file of this name is one that is being written to replace another, or was when its
 * writer was killed. */
bool replace_is_new_name(const char *name);
/* Removes NAME, what a killed writer left under a passing name in the folder, if it is one, ours,
 * and nobody writes it. Whether it did. */
bool replace_remove_stale(int folder, const char *name);

/* fsync(2) of a folder; where the file system has none for folders (EINVAL) that is no error. 0 or
 * negative errno. */
int replace_sync_folder(int folder);
/* Locks byte 0 of the file for writing until the descriptor is closed (an OFD lock). 0, -EAGAIN
 * when another has it, or another negative errno. */
int replace_lock(int fd);
