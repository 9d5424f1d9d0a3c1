/*
 * line_index_private - what is known of one compilation unit while it is read: line_index.c finds
 * the units, line_inlined.c the calls that are inlined in a unit's wanted functions, and
 * line_rows.c makes the record of a function of both.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"
#include "symbol/line_index.h"

#define PATH_CACHE   256
#define ORIGIN_CACHE 1024

/* One inlined call, or the function itself at depth 0. */
struct inlined {
	const char *function;
	const char *call_file;
	uint32_t call_line;
	uint32_t parent; /* position in the list; UINT32_MAX: the function itself */
	uint32_t depth;	 /* of inlining, from 1 */
};

struct inline_range {
	uint64_t first, last;
	uint32_t inlined;
};

/* A relative path and the whole one; rows name the same few files again and again. */
struct joined_path {
	const char *file;
	struct span path;
};

struct origin_name {
	const void *origin; /* address of its entry */
	const char *name;
};

/* What one compilation unit says of the wanted functions. */
struct line_unit {
	const char *folder; /* where the compiler ran: relative paths count from there; or NULL */
	struct arena arena;
	struct origin_name origins[ORIGIN_CACHE];
	struct joined_path paths[PATH_CACHE]; /* by the hash of libdw's pointer */
	Dwarf_Files *files;
	size_t file_count;
	Dwarf_Lines *lines;
	size_t line_count;
	struct inlined *inlined;
	size_t inlined_count, inlined_capacity;
	struct inline_range *ranges; /* by first once the unit was walked */
	size_t range_count, range_capacity;
	bool failed; /* out of memory */
};

/* The functions whose lines are asked for. */
struct line_wanted {
	struct line_extent *extents; /* rising by first, none overlaps another */
	size_t count;
};

/* Does the code of an entry (a unit, a function) touch a wanted function? */
bool line_entry_is_wanted(Dwarf_Die *die, const struct line_wanted *wanted);

/*
 * Fills unit->inlined and unit->ranges, sorted, from the wanted functions below `scope`, the
 * unit's entry. unit->failed: out of memory.
 */
void line_unit_find_inlined(struct line_unit *unit, Dwarf_Die *scope,
			    const struct line_wanted *wanted);

/* Adds the record of one function and sets extent->rows; unit->ranges[range_from, range_to) are
 * those that begin within it. 0 or -ENOMEM; a record that would be too large is left out. */
int line_unit_write(struct line_unit *unit, struct line_extent *extent, size_t range_from,
		    size_t range_to, struct record_set *out);
