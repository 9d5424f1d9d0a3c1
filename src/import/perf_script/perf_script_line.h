/*
 * perf_script_line - the lines of `perf script` that begin a sample. Which columns there
 * are depends on perf's version and on its -F, so each is recognised by its form:
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
	uint64_t pid, tid;  /* optional_of(); one number alone is the TID */
	struct span thread; /* the text of these three: the same for the same thread */
	struct span event;  /* without its last ':'; empty when it was not printed */
	uint64_t period;    /* optional_of() */
	struct span rest;   /* what follows the event, without blanks around */
	struct span fields; /* the same with the blanks before it, for perf_script_parse_leaf() */
	bool timed;	    /* it has a time */
	bool is_record;	    /* no sample: a PERF_RECORD_ line of --show-*-events; rest says which */
};

/* Whether the line begins a sample (or is a record); fills *out. */
bool perf_script_parse_sample(const char *line, size_t size, struct perf_script_sample *out);

/*
 * Lines without time and event (-F comm,tid,ip,sym) are recognised by the places of their
 * columns, not by their words, once the text is known to be perf's
 * (import/perf_script/perf_script_columns.h).
 */

/* A line of any columns, COMM, TID, time, ... and then a place, which *leaf is unless it is a
 * record. False where something else is. */
bool perf_script_parse_columns(struct span line, struct perf_script_sample *out,
			       struct perf_script_frame *leaf);
/* The line before a chain, as above. Where the columns cannot be read, the command is what stands
 * before a thread; without a thread it is all, or the first word of more than a command has. */
void perf_script_parse_head(struct span line, struct perf_script_sample *out);
