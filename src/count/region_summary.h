/*
 * region_summary - what one quantity of a region came to, of one thread or of several together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "count/histogram.h"

struct culprit_region_event;
struct region_cells;
struct region_cost;

/* In ticks or events. All zero: of no thread. */
struct region_summary {
	uint64_t count, absent;
	double total;	   /* costs subtracted */
	double variance;   /* of its error */
	uint64_t min, max; /* when `count` is not 0 */
	uint32_t flags;	   /* of enum culprit_value_flags, of any time */
	double measurable; /* of the thread that is worst */
	bool not_priced;   /* there was a thread whose costs are not known */
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Adds what a thread with such costs measured; it may still be measuring. */
void region_summary_add(struct region_summary *summary, const struct region_cells *cells,
			size_t quantity, const struct region_cost *cost);
void region_summary_merge(struct region_summary *summary, const struct region_summary *part);
/* In the unit of which one tick or event is `scale`. */
void region_summary_result(const struct region_summary *summary, double scale,
			   struct culprit_region_event *result);
