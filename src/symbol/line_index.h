/*
 * line_index - source lines and inlined frames of functions, from DWARF by
 * libdw. Each compilation unit that holds a wanted function is walked once,
 * however many functions are asked for.
 *
 * libdw is told what to read by a stranger's file: call it where dying does no
 * harm (symbol/reader.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct record_set;

struct line_extent {
	uint64_t first;
	uint64_t last; /* inclusive */
	uint64_t rows; /* out: rows found; 0: no debug information */
};

/* Called before a compilation unit is read that has lines that are wanted: all in `out` is
 * complete, and may be taken out. A negative errno ends the search. */
struct line_units {
	int (*begin)(void *context);
	void *context;
};

/*
 * Appends a RECORD_LINES for each extent that debug information covers. Extents
 * rise by first and do not overlap; the descriptor is only read. Returns 0,
 * -EBADMSG for a file whose debug information is damaged or missing, -ENOBUFS with *err
 * where it would take too much memory, -ENOMEM, or what units->begin() returned;
 * `units` may be NULL. Where libdw itself has no memory left, the process ends.
 */
int line_index_records(int fd, struct line_extent *extents, size_t count,
		       const struct line_units *units, struct record_set *out, struct error *err);
