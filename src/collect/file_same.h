/*
 * file_same - is what a mapping names a file that we know? An inode is given to another file when
 * its own is deleted, the number of a device without a disk to another mount when its own is gone,
 * and a stranger can see to both. So a number is never enough.
 *
 * The same generation is, where the kernel keeps it: records tell it, and most file systems on
 * disks (safe_open.h). /proc/PID/maps does not tell it, an overlay has none, and a file system that
 * a user serves says what he likes. Then what the mapping leads to is opened and compared: time of
 * the last change, size, owner, who else can write it, and for the file system of a user that it is
 * the same mount, or the same user who maps it.
 *
 * That is not done for each mapping. While an inode is in use it is nobody else's: a file that is
 * held open, or one that only root or the recorder can write and that lies where we see it, is what
 * everybody's mappings name by its number. Of other files it holds for one user's mappings under
 * one path that they were compared. What was looked at holds for a second, or as long as it takes
 * for looking to be one part in 200 of the time, ten seconds at most. Where nothing can be opened,
 * since most processes are short, an earlier comparison counts however long ago it was; else a
 * mapping of another user is another file. Files that are the same after all are one image, by
 * their content.
 */
#pragma once

#include <stdint.h>

#include "collect/file.h"

struct file_looks; /* mappings that were compared with files lately */

struct file_looks *file_looks_new(void); /* NULL: out of memory; free() frees it */

/* Stores the number of the file that the hint names, 0 when it is none of those known. 0 or
 * -ENOMEM. */
int file_same_find(struct file_table *table, const struct file_hint *hint, enum file_kind kind,
		   uint32_t *number);
/* From here on mappings like the hint may be the file with that number, which is new. 0 or -ENOMEM.
 */
int file_same_add(struct file_table *table, uint32_t number, const struct file_hint *hint);
/* From here on no mapping is a file that is about to be forgotten: in_use[number] is false. */
void file_same_forget(struct file_table *table, const bool *in_use);
