/*
 * gather - the records of sampled functions, read from an executable and its
 * debug file. It believes what the files say: the reader (symbol/reader.h) runs
 * it where that does no harm.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/content_hash.h"

struct buffer;
struct error;
struct gather_counts;
struct identity;
struct record_set;

/* What names the file behind `fd`, with the hash of its content as image/content_hash.h has it.
 * Returns 0 or a negative errno with *err. */
int gather_identity(int fd, enum content_kind content, struct span unique,
		    struct identity *identity, struct error *err);

/* Appends the table of the file's unwind rules (unwind/frame_table.h). 0 or a negative errno with
 * *err. */
int gather_frame_table(int fd, struct buffer *out, struct error *err);

/* Receives records before all are there, so that they are not lost when the rest is given up. */
struct gather_parts {
	/* The records since the last call, which are freed after it. `done` is the set of GATHER_*
	 * that is complete with them. Returns 0, or a negative errno, which ends the gathering. */
	int (*take)(void *context, const struct record_set *records,
		    const struct gather_counts *counts, unsigned int done);
	void *context;
};

/* As reader_gather(), in this process. `out` gets the records that were not given to `parts`, which
 * may be NULL. */
int gather_records(int fd, int debug_fd, const uint64_t *vaddrs, size_t count, unsigned int what,
		   struct record_set *out, struct gather_counts *counts,
		   const struct gather_parts *parts, struct error *err);
