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

/* For want of time, or of an answer: it tells nothing about the file. */
bool file_ways_refused(int code);
/*
 * The first time, as a mapping names it. `path` is NULL when it leads there no more. *ours: the
 * file lies there for us, too. 0, the code of a way that was refused, -EFBIG, or -ENOENT.
 */
int file_ways_open(struct file_table *table, const struct file *file, const struct file_hint *hint,
		   const char *path, struct safe_file *opened, bool *ours);
/* Whether the generations of both are known and differ. */
bool file_ways_other_generation(const struct file *file, const struct safe_file *opened);
/* Whatever lies at our own path, at the expense of who chose it. 0 or the reader's code. */
int file_ways_open_own(struct file_table *table, const char *path, struct share *payer,
		       struct safe_file *own);
/* A descriptor, which the caller closes, of what was identified: of what was kept of it, or of what
 * is there, unchanged. Else as file_ways_open(). */
int file_ways_open_known(struct file_table *table, const struct file *file);
