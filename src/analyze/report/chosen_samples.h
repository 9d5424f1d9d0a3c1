/*
 * chosen_samples - the samples of a profile that a report is about, with their
 * places, after its filters. On the way it fills the report's sums that do not depend
 * on filters: the whole, idle time, how much was resolved, late samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"

struct procedure_match;

struct selected {
	struct cell cell;
	uint32_t column, context; /* context: id, 0 is none */
	uint32_t place;
	uint32_t node; /* id in the trie; 0: no stack is known of these samples */
};

/* Is given each sample that passed the filters. Returns 0 or a negative errno, which ends the walk.
 */
typedef int (*chosen_samples_sink)(void *context, const struct selected *sample);

/* Of a procedure's samples of events that can be late: those that are, and all. */
struct late_tally {
	uint64_t late, all;
};

struct chosen_samples {
	struct report *report; /* columns and places are read, sums are filled */
	chosen_samples_sink sink;
	void *sink_context;
	struct selected *list;
	size_t count, capacity;
	uint32_t *node_place; /* by node id, [0] unused; NULL when stacks are not walked */
	bool *context_kept;   /* by context id */
	bool *image_kept;     /* by image id */
	struct procedure_match *focus, *ignore;
	struct late_tally *late; /* by procedure */
	size_t late_capacity;
};

/*
 * Walks the profile. Samples go to `sink` as they come; without one into `list`,
 * for views that need them several times. Errors as report_new().
 */
int chosen_samples_init(struct chosen_samples *selection, struct report *report,
			struct resolver *resolver, chosen_samples_sink sink, void *sink_context,
			struct error *err);
void chosen_samples_release(struct chosen_samples *selection);

/* The functions at a place, outermost first, as the report shows inlined ones. NULL: out of memory.
 */
const uint32_t *chosen_samples_chain(const struct report *report, uint32_t place, size_t *count);
