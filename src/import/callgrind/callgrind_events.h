/*
 * callgrind_events - what the columns of a callgrind file count: the events of
 * its "events:" lines, those that "event:" lines define as sums of others, and
 * the totals that the file itself gives, to hold against what was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct error;
struct profile;

#define CALLGRIND_MAX_EVENTS 256
#define CALLGRIND_MAX_TERMS  64

struct callgrind_event {
	uint32_t id;	  /* in the profile */
	uint64_t sum;	  /* of all cost lines */
	uint64_t part;	  /* of those since the last totals */
	uint64_t called;  /* inclusive cost of all calls */
	uint64_t summary; /* of the file's "summary:" lines */
};

struct callgrind_term {
	uint64_t factor;
	uint32_t name; /* of an event, in the byte pool */
};

struct callgrind_formula {
	uint32_t name;
	size_t count;
	struct callgrind_term terms[CALLGRIND_MAX_TERMS];
};

struct callgrind_events {
	struct callgrind_event list[CALLGRIND_MAX_EVENTS];
	size_t count;
	uint16_t columns[CALLGRIND_MAX_EVENTS]; /* of a cost line: positions in `list` */
	size_t column_count;
	struct callgrind_formula *formulas;
	size_t formula_count, formula_capacity;
	bool has_summary;
};

void callgrind_events_release(struct callgrind_events *events);
/* An "events:" line's names. 0; -EBADMSG (none, one twice, too many; *what says it); -ENOMEM. */
int callgrind_events_name(struct callgrind_events *events, struct profile *profile,
			  struct span names, const char **what);
/* An "event:" line. As above. A line that only describes an event says nothing that is kept. */
int callgrind_events_define(struct callgrind_events *events, struct profile *profile,
			    struct span text, const char **what);
/*
 * The costs on a line, one a column, fewer when the last ones are 0. Fills
 * costs[0..column_count-1]. False when there is garbage or a cost too many.
 */
bool callgrind_events_costs(const struct callgrind_events *events, struct span text,
			    uint64_t *costs);
/* Adds the cells of events that are sums of others. 0, -EOVERFLOW, -ENOMEM. Formulas with events
 * that are not there are left out; *left_out is the first one's name, or empty. */
int callgrind_events_derive(const struct callgrind_events *events, struct profile *profile,
			    struct span *left_out);
