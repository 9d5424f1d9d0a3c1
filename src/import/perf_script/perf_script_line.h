/*
 * perf_script_line - the lines of `perf script` that begin a sample. Which columns there
 * are depends on perf's version and on its -F, so what is there is told by its form:
 *
 *	COMM [PID/]TID [CPU] SECONDS.FRACTION: PERIOD EVENT: what else was asked for
 *
 * The frames of its call chain follow, a line each (perf_script_frame.h).
 * Spans point into the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "import/perf_script/perf_script_frame.h"

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

/* Whether the line begins a sample (or is a record); fills *out. */
bool perf_script_parse_sample(const char *line, size_t size, struct perf_script_sample *out);

/*
 * What perf prints when it was asked for neither time nor event (-F comm,tid,ip,sym)
 * is not told by its words but by their places, once it is known to be perf's
 * (import/perf_script/perf_script_columns.h).
 */

/* A line of any columns, COMM, TID, time, ... and then a place, which *leaf is unless it is a
 * record. False where something else is. */
bool perf_script_parse_columns(struct span line, struct perf_script_sample *out,
			       struct perf_script_frame *leaf);
/* The line before a chain: as above, and of what it can't read the first word is the command. */
void perf_script_parse_head(struct span line, struct perf_script_sample *out);
