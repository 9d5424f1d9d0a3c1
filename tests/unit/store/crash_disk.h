/*
 * crash_disk - a log of everything that is done to the files of one folder, by
 * SQLite (through a VFS) and by our own code (through the linker's --wrap), and
 * the folder as it would be found after a crash at any point of that log. And
 * the means to let the k-th of these operations fail.
 *
 * One log at a time: the operations come from everywhere.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum crash_kind {
	CRASH_KILLED,	   /* the process dies; what it did is there */
	CRASH_POWER,	   /* what was not synced is gone; names are there */
	CRASH_POWER_NAMES, /* names that were not synced are gone too */
	CRASH_REORDERED,   /* of what was not synced, a random part is there */
	CRASH_KINDS,
};

/* Begins to log what happens below `folder`, with fresh state. */
void crash_disk_begin(const char *folder);
void crash_disk_end(void);
/* Notes a promise: all that a caller was told is done has `number`, rising. */
void crash_disk_promise(int number);
size_t crash_disk_operations(void);
/* The last promise among the first `count` operations. */
int crash_disk_promised(size_t count);

/*
 * Makes in `folder`, which is empty, what a crash after `count` operations leaves. Returns a number
 * of that: the same for the same files with the same content under the same names.
 */
uint64_t crash_disk_restore(const char *folder, size_t count, enum crash_kind kind, uint64_t seed);

/*
 * From now on the `k`-th operation fails as a full disk does; with `for_good`
 * all later writes too. No logging is needed. Returns to normal with k = 0.
 */
void crash_disk_fail(size_t k, int for_good);
/* Whether the failure came. */
int crash_disk_failed(void);
