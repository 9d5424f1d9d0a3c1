/*
 * output_file - where -o writes: standard output for "-" or nothing; a regular
 * file, which takes the place of an earlier one only when all of it is there; or
 * a device or pipe, straight. A link is followed when we or root made it.
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
/* Takes bytes, of text for a terminal whole characters; `output` is a struct output_file. 0 or a
 * negative errno. */
int output_file_write(void *output, const void *bytes, size_t size);
/* Puts the file in its place. Returns 0, or the exit status after a message. */
int output_file_finish(struct output_file *output);
/* Writing failed: says so and returns the exit status. Of standard output main() says it. */
int output_file_failed(const struct output_file *output, int code);
/*
 * Writes all of a page to where -o says or, when `chosen` is NULL, to `otherwise`; a note
 * tells of a file that nobody named. Returns 0, or the exit status after a message.
 */
int output_file_write_page(const char *chosen, const char *otherwise, const struct buffer *page);
/* A file that is not finished leaves what was there before. For CLEANUP(). */
void output_file_release(struct output_file *output);
