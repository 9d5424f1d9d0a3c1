/*
 * perf_script_frame - the places that `perf script` prints: a frame of a call chain, on a
 * line of its own, or where a sample was, at the end of the line that begins it:
 *
 *	ADDRESS NAME+0xOFFSET (DSO)
 *
 * Spans point into the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct perf_script_frame {
	struct span name; /* without +0xOFFSET; empty: perf did not know it, "[unknown]" */
	struct span dso;  /* without its brackets; empty when it was not printed */
	uint64_t address; /* as perf printed it; 0 when it was not */
	bool inlined;	  /* the DSO is that of the frame that called it */
};

/* Whether the line is a frame of a call chain; fills *out. */
bool perf_script_parse_frame(const char *line, size_t size, struct perf_script_frame *out);

/*
 * The place that a sample without call chain has on its line, behind fields like
 * addresses, data sources and weights, and before others like its instruction's
 * bytes. Without a DSO it is recognised by the 16 columns that perf gives an address.
 * False when there is none.
 */
bool perf_script_parse_leaf(struct span fields, struct perf_script_frame *out);

/* What stands before a place on its line: of an address without name and DSO it says how many
 * blanks it has to have. */
enum perf_script_before { PERF_SCRIPT_BEFORE_NOTHING, PERF_SCRIPT_BEFORE_COLUMNS };
/* The same of a place that is recognised by the columns of its address alone. */
bool perf_script_parse_aligned_leaf(struct span fields, enum perf_script_before before,
				    struct perf_script_frame *out);

/* Whether the line is a frame in a chain: a tab, an address in 16 columns, perhaps a name. */
bool perf_script_is_chain_frame(struct span line);
