/*
 * file_learn - what becomes known of a mapped file, and when: its identity when it is met first,
 * by whom and where it is mapped each time that it is met, and its content when it is sampled
 * first, which most files that are mapped never are. What could not be learned is tried again when
 * somebody else maps it, or when who pays for it has time.
 *
 * Each step is paid for by the share of who made it necessary (shares.h).
 */
#pragma once

#include <stdint.h>

struct buffer;
struct file;
struct file_hint;
struct file_table;
struct safe_file;

/* Opens what a mapping names, which may be a file of the table or not; the caller closes it. 0,
 * -ENOMEM, or the reader's code. */
int file_learn_newcomer(struct file_table *table, const struct file_hint *hint,
			struct safe_file *opened);
/* Opens and identifies the file where that can be done: file->state says so then. 0 or -ENOMEM. */
int file_learn_identity(struct file_table *table, uint32_t number, const struct file_hint *hint);
/* A known file is mapped once more. 1 when it has another path from now on, else 0; or -ENOMEM. */
int file_learn_mapped(struct file_table *table, uint32_t number, const struct file_hint *hint);
/* A sample fell into it: reads its content, and copies it where it may be gone before its names and
 * code are read. */
void file_learn_sampled(struct file_table *table, uint32_t number);
/* Appends the table of its unwind rules (unwind/frame_table.h). 0; -ENOENT: it has none, or cannot
 * be opened; -E2BIG: it would be too large; a code that file_ways_refused() knows: it may have one
 * when there is time again; or -ENOMEM. */
int file_learn_frames(struct file_table *table, uint32_t number, struct buffer *out);
