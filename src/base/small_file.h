/*
 * small_file - whole files of a bounded size, such as those under /proc and
 * /sys, whose size is not known before they are read.
 */
#pragma once

#include <stddef.h>

struct buffer;

/*
 * Appends the content of `path` (relative to the folder `dir_fd`, or AT_FDCWD)
 * to `out`. Returns 0, -EFBIG when it holds more than `limit_bytes`, -ENOMEM,
 * or the negative errno of open or read; `out` then holds what was read before.
 */
int small_file_read_at(int dir_fd, const char *path, size_t limit_bytes, struct buffer *out);
int small_file_read(const char *path, size_t limit_bytes, struct buffer *out);
/* From where the descriptor stands; it stays open. */
int small_file_read_fd(int fd, size_t limit_bytes, struct buffer *out);
/*
 * Opens a regular file in the folder `dir_fd` (or AT_FDCWD) for reading. What it is is found out
 * before it is opened (O_PATH), since opening a device or a FIFO has effects. Returns a descriptor;
 * -ELOOP for a link, -ENXIO for anything else that is no regular file, or another negative errno.
 */
int small_file_open_plain(int dir_fd, const char *path);
/* The first line without its newline, cut to `size - 1` bytes and terminated; 0 or negative errno.
 */
int small_file_read_line(const char *path, char *line, size_t size);
