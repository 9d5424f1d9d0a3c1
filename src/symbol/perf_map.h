/*
 * perf_map - the functions of a JIT compiler, from /tmp/perf-PID.map: lines
 * "START SIZE name" with hexadecimal numbers. The program may write anything there:
 * lines that make no sense are counted and skipped. Where lines overlap the later
 * one is the newer code, since freed memory is used again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

#define PERF_MAP_MAX_BYTES                                                                         \
	(256u << 20) /* what the collector reads of one; 3 M functions of 80 bytes a line */
#define PERF_MAP_MAX_NAME 4096 /* longer ones are cut */

struct jit_symbol {
	uint64_t start;
	uint64_t size_bytes;
	struct span name; /* borrowed */
};

struct perf_map {
	struct jit_symbol *symbols;
	size_t count;
	size_t bad; /* lines */
};

/* The lines as they stand: symbols in the order of the file, which may overlap. An unfinished last
 * line counts as a line. 0 or -ENOMEM; perf_map_release() either way. */
int perf_map_read_lines(struct span bytes, struct perf_map *map);
/* As perf_map_read_lines(), but by start and without overlap: where lines overlap the later one
 * counts. */
int perf_map_parse(struct span bytes, struct perf_map *map);
void perf_map_release(struct perf_map *map);
const struct jit_symbol *perf_map_find(const struct perf_map *map, uint64_t address);
