/*
 * jit_records - records of code that was compiled at run time, from the perf map
 * (symbol/perf_map.h) or the jitdump file (symbol/jitdump.h) that its compiler wrote.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jit_loaded;
struct jit_timeline;
struct jitdump;
struct perf_map;
struct record_set;

/* The files that the source numbers of a timeline stand for. */
struct jit_sources {
	const struct jitdump *const *dumps; /* by source number; NULL: a file with names alone */
	size_t count;
};

/*
 * Append the functions that hold `vaddrs` (rising): names of a timeline, with code and lines where
 * the dump that they come from has them. 0 or -ENOMEM.
 */
int jit_records_of_timeline(const struct jit_timeline *timeline, const struct jit_sources *sources,
			    const uint64_t *vaddrs, size_t count, struct record_set *out);

/* Appends the records of one function of a timeline. 0 or -ENOMEM. */
int jit_record_add(const struct jit_loaded *loaded, const struct jit_sources *sources,
		   struct record_set *out);
/* How many bytes these records take, about. */
uint64_t jit_record_bytes(const struct jit_loaded *loaded, const struct jit_sources *sources);

/*
 * As jit_records_of_timeline(), of a map or a dump by itself, without regard to time: the last
 * function at an address counts. 0 or -ENOMEM.
 */
int jit_records_of_map(const struct perf_map *map, const uint64_t *addresses, size_t count,
		       struct record_set *out);
int jit_records_of_dump(struct jitdump *dump, const uint64_t *addresses, size_t count,
			struct record_set *out);
