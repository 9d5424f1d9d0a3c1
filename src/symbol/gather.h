/*
 * gather - the records of sampled functions, read from an executable and its
 * debug file. It believes what the files say: the reader (symbol/reader.h) runs
 * it where that does no harm.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/content_hash.h"

struct error;
struct gather_counts;
struct identity;
struct record_set;

/* What names the file behind `fd`, with the hash of its content as image/content_hash.h has it.
 * Returns 0 or a negative errno with *err. */
int gather_identity(int fd, enum content_kind content, struct span unique,
		    struct identity *identity, struct error *err);

/* Who takes records before all are there, so that what follows may be given up. */
struct gather_parts {
	/* `done` is the set of GATHER_* that is complete with these; then they are forgotten. 0, or
	 * a negative errno, which ends the gathering. */
	int (*take)(void *context, const struct record_set *records,
		    const struct gather_counts *counts, unsigned int done);
	void *context;
};

/* As reader_gather(), in this process. `parts`: NULL: all are in `out` at the end; else those that
 * nobody took. */
int gather_records(int fd, int debug_fd, const uint64_t *vaddrs, size_t count, unsigned int what,
		   struct record_set *out, struct gather_counts *counts,
		   const struct gather_parts *parts, struct error *err);
