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

/* Takes over opened->fd, of a file that was just identified; where it lies is known. */
void file_keep(struct file_table *table, uint32_t number, const struct safe_file *opened);
/* Takes over `fd`, which pins nothing. Among those held, the oldest without samples gives way, else
 * the oldest. */
void file_keep_held(struct file_table *table, uint32_t number, int fd);
/* Copies that no sample needs give way to one of the file, which is sampled. Whether there is room
 * for it now. */
bool file_keep_make_room(struct file_table *table, const struct file *file);
/* Gives up what is kept of files that are to be forgotten: in_use[number] is false. */
void file_keep_forget(struct file_table *table, const bool *in_use);
/* Copies it from `fd`, which stays the caller's, when there is room. */
void file_keep_copy(struct file_table *table, struct file *file, int fd);
