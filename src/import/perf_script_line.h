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
 * The place that a sample without call chain has at the end of its line, behind
 * fields like addresses, data sources and weights. False when there is none.
 */
bool perf_script_parse_leaf(struct span rest, struct perf_script_frame *out);
