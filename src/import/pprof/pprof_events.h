/*
 * pprof_events - the value columns of a pprof profile as events. A column that
 * counts samples ("samples" in "count") is no event where another column says
 * what those samples stand for: it gives that event's cells their samples.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "import/pprof/pprof_wire.h"
#include "profile/profile.h"

struct pprof_column {
	struct span type, unit; /* as in the file */
	uint32_t event;		/* in the profile; 0: it counts another column's samples */
	int samples;		/* column of its samples, itself when it counts them; -1: none */
	uint64_t factor;	/* of its values: times become ns */
	uint64_t total;		/* of the estimates of all its cells */
	uint64_t total_samples; /* of those cells */
};

struct pprof_events {
	struct pprof_column columns[PPROF_MAX_TYPES];
	size_t count;
};

/* What the profiler took a sample every `period` of; empty: not known. */
struct pprof_period {
	struct span type, unit;
	uint64_t period; /* 0: not known */
};

/* `columns` have type and unit; fills the rest and adds the events. 0 or -ENOMEM. */
int pprof_events_add(struct pprof_events *events, struct profile *profile,
		     const struct pprof_period *period);

/* The cell of one column. Returns 0, or -EOVERFLOW when all cells of the column add up to more than
 * 64 bits. No value is below 0. */
int pprof_events_cell(struct pprof_events *events, size_t column, const int64_t *values,
		      struct cell *cell);
