/*
 * sampler_lines - the lines of a file of /proc and the numbers in them, without memory of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* More than a line of /proc/self/maps has: a path and some numbers. */
#define SAMPLER_LINE_BYTES 8192

struct sampler_lines {
	int fd; /* negative: it could not be opened */
	size_t at, size;
	char bytes[SAMPLER_LINE_BYTES];
};

void sampler_lines_open(struct sampler_lines *lines, const char *path);
void sampler_lines_close(struct sampler_lines *lines);

/*
 * The next line, ended by a NUL in place of its newline, until the next call; NULL at the end and
 * of a file that could not be opened. One that is longer than the buffer comes in parts.
 */
char *sampler_lines_next(struct sampler_lines *lines);

/* The number that *text begins with. *text moves behind it, and behind `after` if that follows. */
uint64_t sampler_lines_number(char **text, int base, char after);
