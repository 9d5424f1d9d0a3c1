/*
 * jit_records - records of code that was compiled at run time, from what its
 * compiler wrote down: a perf map (symbol/perf_map.h) or a jitdump file
 * (symbol/jitdump.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jit_loaded;
struct jit_timeline;
struct jitdump;
struct perf_map;
struct record_set;

/* What a source number of a timeline stands for; NULL: a file that has no more than names. */
struct jit_sources {
	const struct jitdump *const *dumps; /* with code and lines */
	size_t count;
};

/*
 * Append the functions that hold `vaddrs` (rising): names of a timeline, with code and lines where
 * the dump that they come from has them. 0 or -ENOMEM.
 */
int jit_records_of_timeline(const struct jit_timeline *timeline, const struct jit_sources *sources,
			    const uint64_t *vaddrs, size_t count, struct record_set *out);

/* One of these functions. 0 or -ENOMEM. */
int jit_record_add(const struct jit_loaded *loaded, const struct jit_sources *sources,
		   struct record_set *out);
/* What its records take, about. */
uint64_t jit_record_bytes(const struct jit_loaded *loaded, const struct jit_sources *sources);

/*
 * The same of a map or a dump by itself, where times mean nothing: the last at an address counts.
 * They are read once however many processes ask. 0 or -ENOMEM.
 */
int jit_records_of_map(const struct perf_map *map, const uint64_t *addresses, size_t count,
		       struct record_set *out);
int jit_records_of_dump(struct jitdump *dump, const uint64_t *addresses, size_t count,
			struct record_set *out);
