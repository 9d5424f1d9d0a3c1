/*
 * mapped_file - a file's bytes in memory, to be read. When the file shrinks meanwhile, reading
 * beyond its new end kills the process (SIGBUS): map a stranger's file only where that may happen.
 */
#pragma once

#include <stddef.h>

struct error;

struct mapped_file {
	void *bytes; /* NULL: nothing is mapped */
	size_t size_bytes;
};

/*
 * The whole file behind `fd`, which stays the caller's. Reading its holes of 1 MiB and more, the
 * first 1024 of them, takes no memory; others are read as what is there. 0, -ENOEXEC (an empty
 * one), or what fstat or mmap said; *out is then empty.
 */
int mapped_file_open(int fd, struct mapped_file *out, struct error *err);
/*
 * Its bytes as they are now, in memory of our own: for a process that must not die of what others
 * do to the file. Holes cost nothing. What it loses meanwhile reads as zeros.
 */
int mapped_file_copy(int fd, struct mapped_file *out, struct error *err);
/*
 * Who reads a long file once does not keep all of it in memory: drops the pages of that range of a
 * file opened by mapped_file_open(), which are read anew where they are needed again. Not for a
 * copy, whose bytes would be lost.
 */
void mapped_file_let_go(const void *bytes, size_t size_bytes);
void mapped_file_close(struct mapped_file *file); /* an empty one does nothing; for CLEANUP() */
