/*
 * held_files - what is kept of files of strangers between their first sight and
 * the end of the epoch, so that nobody's file system is kept from being
 * unmounted. A descriptor stays open only where it pins nothing: on the mount
 * that is our own root. Of files elsewhere a copy in memory is kept, made at
 * once, within a budget. What is neither held nor copied is opened again by its
 * path when it is needed.
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
#define COPY_AT_ONCE_BYTES                                                                         \
	(1u << 20) /* copied when first mapped; larger ones when first sampled                     \
		    */

struct held_files {
	struct reader *reader;
	uint64_t root_mount;			  /* 0: not known, nothing is harmless then */
	uint64_t copied_bytes, copied_most_bytes; /* now, and at most so far */
	size_t copies;
};

void held_files_init(struct held_files *held, struct reader *reader);

/* Whether an open `fd` keeps nobody from unmounting: it is on the mount of our own root. */
bool held_files_harmless(const struct held_files *held, int fd);

/* Whether the budget has room for `size_bytes` more; `by_path`: we see the file by its path. */
bool held_files_room(const struct held_files *held, uint64_t size_bytes, bool by_path);
/* A copy in memory of the file, or -1; counted until held_files_drop(). *size_bytes is what it
 * takes. The caller keeps and closes `fd`. */
int held_files_copy(struct held_files *held, int fd, bool by_path, uint64_t *size_bytes);
/* Counts a copy that somebody else made; held_files_room() was asked before. */
void held_files_count(struct held_files *held, uint64_t size_bytes);
void held_files_drop(struct held_files *held, uint64_t size_bytes);
