/*
 * replace_file - a new whole file under an old name: written beside it, synced,
 * renamed over it, the folder synced. At every moment the name stands for the
 * old bytes or the new ones. What a killed writer leaves is NAME.new, which the
 * next one takes over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

enum replace_earlier {
	REPLACE_DROP,	/* the file that was there is gone */
	REPLACE_KEEP,	/* it becomes NAME.old, in place of an older one */
	REPLACE_REFUSE, /* it is an error (-EEXIST) */
};

/* Fails with the negative errno and one sentence; nothing is left behind then. */
int replace_file(const char *path, const void *bytes, size_t size, mode_t mode,
		 enum replace_earlier earlier, struct error *err);

/* The same in pieces: begin, write as often as needed, commit. */
struct replacement {
	const char *path; /* borrowed */
	char *passing;	  /* its name until the end */
	int folder, fd;
	bool renamed;
};
/* Must be released in any case. Fails as replace_file() does. */
int replace_begin(const char *path, mode_t mode, struct replacement *made, struct error *err);
int replace_write(struct replacement *made, const void *bytes, size_t size); /* negative errno */
int replace_commit(struct replacement *made, enum replace_earlier earlier, struct error *err);
/* Without a commit before, nothing has happened. For CLEANUP(). */
void replace_release(struct replacement *made);

/*
 * 0 when a regular file can be made or replaced under that name; else -EISDIR,
 * -ENXIO (a FIFO, a device, a socket), or what the folder says, with *err.
 */
int replace_file_check(const char *path, struct error *err);

/* The folder of `path`, opened. Negative errno without *err. */
int replace_open_folder(const char *path);
/* After its last slash. */
const char *replace_base_name(const char *path);
/* fsync of a folder; file systems that cannot are believed to need none. 0 or negative errno. */
int replace_sync_folder(int folder);
/* A lock on the whole file that dies with the descriptor; -EAGAIN when another has it. */
int replace_lock(int fd);
