/*
 * held_files - how much is kept of mapped files until their names are read at the
 * end of the epoch, without keeping anybody's file system from being unmounted. A
 * descriptor stays open only on the mount that is our own root, which nobody can
 * unmount. Of files elsewhere a copy in memory is kept, made at once, within a
 * budget. What is neither held nor copied is opened again by its path when it is
 * needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader;

#define HELD_MOST	  64u	      /* descriptors of files on our own root's mount */
#define COPIES_MOST	  192u	      /* copies, a descriptor each */
#define COPY_MOST_BYTES	  (32u << 20) /* of one file */
#define COPIES_MOST_BYTES (64u << 20) /* of all; half of it for files that we see by their path */
/* Of a file up to this size when it is first mapped, of larger ones when they are first sampled. */
#define COPY_AT_ONCE_BYTES (1u << 20)

struct held_files {
	struct reader *reader;
	uint64_t root_mount;			  /* 0: not known, nothing is harmless then */
	uint64_t copied_bytes, copied_most_bytes; /* now, and at most so far */
	size_t copies;
};

void held_files_init(struct held_files *held, struct reader *reader);

/* Whether `fd` is on the mount of our own root: kept open, it hinders nobody from unmounting. */
bool held_files_harmless(const struct held_files *held, int fd);

/* Whether the budget has room for `size_bytes` more; `by_path`: we see the file by its path. */
bool held_files_room(const struct held_files *held, uint64_t size_bytes, bool by_path);
/* A copy in memory of the file, or -1; counted until held_files_drop(). *size_bytes is what it
 * takes. The caller keeps and closes `fd`. */
int held_files_copy(struct held_files *held, int fd, bool by_path, uint64_t *size_bytes);
/* Counts a copy that somebody else made, for which held_files_room() found room. */
void held_files_count(struct held_files *held, uint64_t size_bytes);
/* A copy of that size was closed. */
void held_files_drop(struct held_files *held, uint64_t size_bytes);
