/*
 * event_column - the columns of a report. Rows of the event table that count
 * the same thing (name, PMU, core type, unit, user or kernel) are one column:
 * two recordings with different periods add up, hybrid core types stay apart.
 * Texts borrow from the profile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/interval.h"
#include "base/span.h"
#include "profile/profile.h"

struct error;

struct event_column {
	struct span name, unit, pmu, core_type;
	struct span leader; /* set when it was read with another event's samples */
	uint64_t scale;	    /* decimals: estimates count 10^-scale events */
	uint64_t clock, exclude, type, config;
	uint64_t period_least, period_most; /* of the merged rows; policy as of the first */
	uint64_t policy, precise, skid, origin;
	bool sampled; /* some row has samples of its own */
	bool counted; /* it has rows in flat or stack, so it is no column of zeros */
	size_t rows;  /* of the event table that were merged */
	uint64_t run; /* that it is of (profile/runs.h), when runs are apart; else 0 */
};

/* Two columns of one PMU, core type and scope whose quotient is cycles per instruction. */
struct event_pair {
	size_t cycles, instructions; /* columns */
	enum ratio_samples samples;
};

#define EVENT_COLUMN_NONE UINT32_MAX

struct event_columns {
	struct event_column *list; /* cycles first, then clocks, then by name */
	size_t count;
	uint32_t *of_event; /* by event id: its column, or EVENT_COLUMN_NONE; [0] unused */
	size_t event_count;
	struct event_pair *pairs;
	size_t pair_count;
};

bool event_column_counts_cycles(const struct event_column *column);
bool event_column_counts_instructions(const struct event_column *column);

/* How the samples of two columns depend on each other: RATIO_GROUPED where one is the other's
 * leader. Two members of a third event's group depend in a way that is not stored, and count as
 * independent, which is the wider interval. */
enum ratio_samples event_column_ratio_samples(const struct event_column *a,
					      const struct event_column *b);

/* The same of one that is a part of the other: RATIO_PART where both were read with the samples of
 * a third event. */
enum ratio_samples event_column_part_samples(const struct event_column *part,
					     const struct event_column *whole);
/* above / below, in events, of the cells of all columns. */
struct estimate event_column_ratio(const struct event_columns *columns, size_t above, size_t below,
				   enum ratio_samples samples, const struct cell *cells);
/* Whether two columns are of one PMU, core type and scope (user, kernel); equal hashes then, too,
 * as long as both are of one profile. */
bool event_column_same_scope(const struct event_column *a, const struct event_column *b);
uint64_t event_column_scope_hash(const struct event_column *column);

/* "cycles" of "cycles:u", "cpu_core/cycles/u" and "cpu/cycles/". */
struct span event_base_name(struct span name);
/* 10^scale, how many units of a column's estimates are one event; of a number of decimals. */
double event_column_divisor(const struct event_column *column);
double event_scale_divisor(uint64_t scale);

/*
 * Of the events that have rows in flat or stack, or were sampled and have none,
 * those that a pattern matches; no pattern: all. A pattern is a name, or a name
 * without PMU and modifiers ("cycles" of "cpu/cycles/u"), or a glob; where an
 * event has exactly that name, no other is meant. After a failure there is nothing
 * to release.
 * Returns 0, -ENOMEM, or -ENOENT when a pattern matches no event; *err then
 * lists the events there are.
 */
int event_columns_init(struct event_columns *columns, const struct profile *profile,
		       const char *const *patterns, size_t pattern_count, struct error *err);
#define EVENT_RUNS_TOGETHER 0
#define EVENT_RUNS_APART    UINT64_MAX
/* The same of marked runs (profile/runs.h): together, as event_columns_init() has them; apart, a
 * column an event and run; or events of that one run alone. */
int event_columns_init_runs(struct event_columns *columns, const struct profile *profile,
			    const char *const *patterns, size_t pattern_count, uint64_t runs,
			    struct error *err);
/* The first column that a pattern, as event_columns_init() has them, matches. Returns 0, or
 * -ENOENT; *err then lists the events there are. */
int event_columns_find(const struct event_columns *columns, const char *pattern, size_t *column,
		       struct error *err);
/* The first column that counted something; the first of all when none has. */
size_t event_columns_main(const struct event_columns *columns);
void event_columns_release(struct event_columns *columns);
