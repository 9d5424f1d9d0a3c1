/*
 * file_table - the files that processes execute from, each opened and named
 * once, when it is first seen: before it is deleted, replaced, or gone with
 * its container. A file is known by (device, inode, generation): inode numbers
 * alone are given away again at once, and so are numbers of devices. Where a
 * generation is not known, file_same.h says what else must hold.
 *
 * The table finds a file by its mappings, and tells its image and the place of
 * an address there. How a file is opened is file_ways.h's business; what is
 * asked of it, when, and who pays is file_learn.h's. It is closed again before
 * anybody waits for that: an open file keeps its file system from being
 * unmounted. file_keep.h says what is kept of it until names and code are read.
 *
 * A file's image is named by its build-id, which is a claim, and by its content
 * and who can write it, which are looked at when it is sampled first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/file.h"
#include "image/unknown.h"

struct profile_frame;

/* All are borrowed; `shares` may be NULL: nobody pays. */
int file_table_init(struct file_table *table, struct profile *session, struct reader *reader,
		    struct shares *shares);
void file_table_release(struct file_table *table);

/* Stores the number of the file, which is opened and identified when it is new, and opened where
 * nothing else tells whether it is. 0 or -ENOMEM. */
int file_table_find(struct file_table *table, const struct file_hint *hint, uint32_t *number);

/*
 * From an offset in the file to a place in its image, which has a sample from now on. Fills *frame,
 * or *cause. Not for files with file_is_runtime_code(), whose places depend on the process. 0 or
 * -ENOMEM.
 */
int file_table_locate(struct file_table *table, uint32_t number, uint64_t offset,
		      struct profile_frame *frame, enum unknown_cause *cause);
/* The image of a file that has a sample from now on. 0 or -ENOMEM. */
int file_table_image(struct file_table *table, uint32_t number, uint32_t *image);
/* Names and code were read, as at the end of an epoch: what is kept for them may give way to files
 * that are sampled from now on. */
void file_table_names_read(struct file_table *table);
/*
 * Forgets the files that nobody uses any more: in_use[number] is false. The numbers are given to
 * new files, so nothing else may mean the old ones then: no mapping, no batch that is interpreted,
 * no helper, no jitdump that is read. The users who paid for them have room for others again.
 */
void file_table_forget(struct file_table *table, const bool *in_use);
/* Images are called by other numbers from now on: images[old], 0 for one that is no more. */
void file_table_renumber_images(struct file_table *table, const uint32_t *images);
/*
 * A descriptor of the file, which the caller closes soon: what is kept of it, or the file itself
 * when one of the ways to it finds it unchanged. Or -EDQUOT, -ETIMEDOUT, -ECANCELED or -EBUSY when
 * a way was refused for want of time, else -ENOENT, or -errno of fcntl().
 */
int file_table_open(struct file_table *table, uint32_t number);
/* As file_table_open(), for a descriptor that stays open: negative also where that would keep a
 * file system from being unmounted. */
int file_table_open_for_long(struct file_table *table, uint32_t number);
