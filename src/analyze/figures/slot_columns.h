/*
 * slot_columns - the first level of TopDown from the columns of a report: which shares of the issue
 * slots retired, went into work that was thrown away, waited for instructions (frontend) or for
 * data and execution (backend). A. Yasin, "A Top-Down Method for Performance Analysis and Counters
 * Architecture", ISPASS 2014, section IV; the events are those of Linux on Intel
 * (tools/perf/Documentation/topdown.txt), each counted in slots. Which one was counted is told by
 * its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "analyze/figures/interval.h"

enum slot_part { SLOTS_RETIRING, SLOTS_BAD_SPECULATION, SLOTS_FRONTEND, SLOTS_BACKEND, SLOT_PARTS };

/* The columns of one PMU, core type and scope. */
struct slot_columns {
	size_t slots;
	uint32_t parts[SLOT_PARTS]; /* EVENT_COLUMN_NONE: was not counted */
	enum ratio_samples samples[SLOT_PARTS];
};

/* Stores, malloc'ed, those that have slots and at least one part, in the order of slots. 0 or
 * -ENOMEM. */
int slot_columns_find(const struct event_columns *columns, struct slot_columns **list,
		      size_t *count);
/* Whether the column is a part in one of them. */
bool slot_columns_have_part(const struct slot_columns *list, size_t count, size_t column);

/* The share of a part in the slots of these cells (by column), 0 to 1 where both were read with the
 * same samples; absent where it was not counted. */
struct estimate slot_share(const struct event_columns *columns, const struct slot_columns *of,
			   enum slot_part part, const struct cell *cells);
