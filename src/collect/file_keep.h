/*
 * file_keep - which files the table keeps open, and of which it keeps a copy, within the limits of
 * held_files.h. What no sample needs gives way to what one does.
 *
 * What is not kept opens again by the ways of file_ways.h, unless it lost its names by then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct file;
struct file_table;
struct safe_file;

/* Takes over opened->fd, of a file that was just identified; file->elsewhere is known. */
void file_keep(struct file_table *table, uint32_t number, const struct safe_file *opened);
/* Takes over `fd`, which keeps no file system from being unmounted. When HELD_MOST are held, the
 * oldest without samples gives way, else the oldest. */
void file_keep_held(struct file_table *table, uint32_t number, int fd);
/* Gives up copies of files without samples until there is room for one of `file`, which has some.
 * Whether there is. */
bool file_keep_make_room(struct file_table *table, const struct file *file);
/* Gives up what is kept of files that are to be forgotten: in_use[number] is false. */
void file_keep_forget(struct file_table *table, const bool *in_use);
/* Keeps a copy of what `fd` leads to, when there is room; `fd` stays the caller's. */
void file_keep_copy(struct file_table *table, struct file *file, int fd);
