/*
 * perf_script_line - the two kinds of lines that `perf script` prints: the one
 * that begins a sample, and a frame of its call chain. Which columns there are
 * depends on perf's version and on its -F, so what is there is told by its form:
 *
 *	COMM [PID/]TID [CPU] SECONDS.FRACTION: PERIOD EVENT: what else was asked for
 *		ADDRESS NAME+0xOFFSET (DSO)
 *
 * Spans point into the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct perf_script_sample {
	struct span comm;
	uint64_t pid, tid;  /* optional_of(); of one number alone it is the TID */
	struct span thread; /* the text of the three, for who wants to know it again */
	struct span event;  /* without its last ':'; empty when it was not printed */
	uint64_t period;    /* optional_of() */
	struct span rest;   /* behind the event, without blanks around */
	struct span fields; /* the same with the blanks before it, which tell columns apart */
	bool timed;	    /* it has a time */
	bool is_record;	    /* no sample: a PERF_RECORD_ line of --show-*-events; rest says which */
};

struct perf_script_frame {
	struct span name; /* without +0xOFFSET; empty: perf did not know it, "[unknown]" */
	struct span dso;  /* without its brackets; empty when it was not printed */
	uint64_t address; /* as perf printed it; 0 when it was not */
	bool inlined;	  /* the DSO is that of the frame that called it */
};

/* Whether the line begins a sample (or is a record); fills *out. */
bool perf_script_parse_sample(const char *line, size_t size, struct perf_script_sample *out);

/* Whether the line is a frame of a call chain; fills *out. */
bool perf_script_parse_frame(const char *line, size_t size, struct perf_script_frame *out);

/*
 * The place that a sample without call chain has on its line, behind fields like
 * addresses, data sources and weights, and before others like its instruction's
 * bytes. Without a DSO it is told by the 16 columns that perf gives an address.
 * False when there is none.
 */
bool perf_script_parse_leaf(struct span fields, struct perf_script_frame *out);

/*
 * What perf prints when it was asked for neither time nor event (-F comm,tid,ip,sym)
 * is not told by its words but by their places, once it is known to be perf's
 * (import/perf_script/perf_script_columns.h).
 */

/* Whether the line is a frame in a chain: a tab, an address in 16 columns, perhaps a name. */
bool perf_script_is_chain_frame(struct span line);
/* A line of any columns, COMM, TID, time, ... and then a place, which *leaf is unless it is a
 * record. False where something else is. */
bool perf_script_parse_columns(struct span line, struct perf_script_sample *out,
			       struct perf_script_frame *leaf);
/* The line before a chain: as above, and of what it can't read the first word is the command. */
void perf_script_parse_head(struct span line, struct perf_script_sample *out);
