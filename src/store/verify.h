/*
 * verify - everything that can be wrong with a profile file, named one by one,
 * and what of it can still be read.
 */
#pragma once

#include <stdint.h>

struct error;
struct profile;

struct verify_report {
	uint64_t faults; /* 0: the file is sound */
	uint64_t chunks, chunks_damaged;
	uint64_t rows, rows_dropped;
	uint64_t file_bytes;
	unsigned unknown_tables;
	int cut_off; /* a recording that did not end well: no fault */
	int being_written;
};

/*
 * Reads the file to its end, whatever is wrong in between, and calls `fault`
 * with one sentence each time. *out, when not NULL, gets what could be read:
 * whole when there was no fault; NULL when nothing could. Returns 0 also for a
 * damaged file; negative errno with *err when there is no profile to be judged
 * (not there, not ours, of a newer version).
 */
int verify_file(const char *path, void (*fault)(void *context, const char *sentence), void *context,
		struct verify_report *report, struct profile **out, struct error *err);
