/*
 * file_ways - the ways that lead to a mapped file: its path where we see it or a process does, the
 * mapping itself, the executable of a process. None is believed: what it leads to is compared with
 * the mapping the first time, and later with what was identified.
 *
 * A way through the mounts of somebody else is one that he can make slow: he pays for it
 * (shares.h).
 */
#pragma once

#include <stdbool.h>

struct file;
struct file_hint;
struct file_table;
struct safe_file;
struct share;

/* Whether opening failed for want of time, or of an answer: that says nothing about the file. */
bool file_ways_refused(int code);
/*
 * Opens what a mapping names for the first time; `file` needs its device, inode and generation.
 * `path` is NULL when it leads there no more. *ours: it leads us there, too. 0, the code of a way
 * that was refused, -EFBIG (too large to be copied), or -ENOENT.
 */
int file_ways_open(struct file_table *table, const struct file *file, const struct file_hint *hint,
		   const char *path, struct safe_file *opened, bool *ours);
/* Whether the generations of both are known and differ. */
bool file_ways_other_generation(const struct file *file, const struct safe_file *opened);
/* Opens whatever lies at the path for us. `payer`, who chose it, pays. 0 or the reader's code. */
int file_ways_open_own(struct file_table *table, const char *path, struct share *payer,
		       struct safe_file *own);
/* A descriptor, which the caller closes, of the file as it was identified: what is kept of it, or
 * what is found again by one of the ways, unchanged. Or as file_table_open(). */
int file_ways_open_known(struct file_table *table, const struct file *file);
