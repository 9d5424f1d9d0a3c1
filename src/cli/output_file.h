/*
 * output_file - where -o writes: standard output for "-" or without -o; a regular
 * file, which replaces an earlier one only when all of it is written; or
 * straight to a device or pipe. A link is followed when we or root made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/replace_file.h"

struct buffer;

struct output_file {
	const char *path;
	char *target; /* what a link points to, or the path */
	bool standard, terminal, replaces;
	int fd; /* of a device or pipe */
	struct replacement replacement;
};

/* NULL and "-" are standard output. Returns 0, or the exit status after a message. */
int output_file_open(struct output_file *output, const char *path);
/* Writes bytes, text for a terminal in whole characters; `output` is a struct output_file (a sink's
 * function: export/sink.h). 0 or a negative errno. */
int output_file_write(void *output, const void *bytes, size_t size);
/* Puts the file into its place. Returns 0, or the exit status after a message. */
int output_file_finish(struct output_file *output);
/* After a failed write: prints a message (but main() does for standard output) and returns the exit
 * status. */
int output_file_failed(const struct output_file *output, int code);
/*
 * Writes a whole page to the path `chosen` of -o or, when that is NULL, to `otherwise`, of which a
 * note tells if it is a file. Returns 0, or the exit status after a message.
 */
int output_file_write_page(const char *chosen, const char *otherwise, const struct buffer *page);
/* Without output_file_finish() an earlier file stays as it was. For CLEANUP(). */
void output_file_release(struct output_file *output);
