/*
 * bad_lines - lines of a text that its reader leaves out, counted, and reported once
 * at the end with the numbers of the first ones.
 */
#pragma once

#include <stdint.h>

struct import_options;

#define BAD_LINES_SHOWN 5

struct bad_lines {
	uint64_t count;
	uint64_t first[BAD_LINES_SHOWN]; /* their numbers, from 1 */
};

void bad_lines_add(struct bad_lines *bad, uint64_t number);
/* "3 of 90 lines WHAT and are left out (line 4, 7, 12)", as a warning; nothing when there are none.
 */
void bad_lines_report(const struct bad_lines *bad, const struct import_options *options,
		      uint64_t lines, const char *what);
