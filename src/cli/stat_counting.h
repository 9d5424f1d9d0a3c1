/*
 * stat_counting - the counters of one run of `culprit stat`, and what they say as rows.
 */
#pragma once

#include <stdbool.h>

#include "analyze/counted/counts.h"
#include "cli/stat_events.h"
#include "cli/stat_metrics.h"
#include "cli/stat_targets.h"
#include "count/count_set.h"
#include "machine/slices.h"

enum stat_begin {
	STAT_WITH_EXEC, /* when the command is executed */
	STAT_LATER,	/* with stat_counting_enable() */
};

struct stat_counting {
	const struct stat_targets *targets;
	const struct stat_events *events;
	const struct stat_metrics *metrics;
	struct count_set *set;		    /* NULL: nothing is counted */
	struct count_reading *last, *now;   /* [target][event] */
	struct count_reading *sliced;	    /* [target][event], at the end of the last slice */
	struct slices *slices;		    /* [row][event] */
	struct counts_value *values;	    /* [row][event] */
	struct counts_value *metric_values; /* [row][metric] */
	struct topdown *topdown;	    /* [row][core type] */
	struct counts_row *rows;
};

/* Opens the events on all targets; all that is given outlives it. 0, or the exit status after a
 * message. */
int stat_counting_open(struct stat_counting *counting, struct stat_events *events,
		       const struct stat_targets *targets, const struct stat_metrics *metrics,
		       enum stat_begin begin, bool inherit);
/* Before counting begins: whether no event can be counted on any target. */
bool stat_counting_is_hopeless(struct stat_counting *counting);
void stat_counting_close(struct stat_counting *counting); /* also right for a zeroed one */

/* 0 or the exit status after a message. */
int stat_counting_enable(struct stat_counting *counting);
int stat_counting_disable(struct stat_counting *counting);
/* Reads; rows are then what was counted since the last such call, or since the beginning. 0 or the
 * exit status after a message. */
int stat_counting_read(struct stat_counting *counting);
/*
 * Ends a slice of time: how rates differ from slice to slice tells how far scaled counts may be
 * wrong (machine/slices.h). *taking_turns: an event was on the PMU for a part of the slice only. 0
 * or the exit status after a message.
 */
int stat_counting_slice(struct stat_counting *counting, bool *taking_turns);
/* Makes rows of the last reading that are since the beginning; scaled values have an interval where
 * there were enough slices. */
void stat_counting_total(struct stat_counting *counting);
/* What the rows are, to be printed. */
struct counts stat_counting_counts(const struct stat_counting *counting);
/* Says which events could not be counted, once for each reason, with what helps. After a reading.
 */
void stat_counting_explain(const struct stat_counting *counting);
