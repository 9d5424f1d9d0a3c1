/*
 * count_plan - which events are counted together. Groups that were written stay as they are; single
 * events of the CPU's PMU are put into as few groups as its counters allow, and software events
 * into groups of their own, since they need no counter. Whether a group fits is found out by
 * letting it count for a moment in this thread.
 *
 * Events that do not open stand alone, so that none keeps another from being counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct count_kernel;
struct error;
struct event_list;
struct perf_event_attr;

/* Events that are on the PMU at the same times: members[first, first + size). */
struct count_group {
	size_t first, size;
	bool shared; /* there are further groups of its PMU, which may have to take turns */
	bool live;   /* all of its events are mapped */
};

struct count_plan {
	struct count_group *groups;
	size_t group_count;
	size_t *members;  /* numbers of events, group after group */
	size_t *group_of; /* of each event */
};

/*
 * `attrs` are those of the events, as they will be opened. Takes 0.2 ms for an event of a PMU. 0
 * and *plan, which count_plan_release() frees; -ENOMEM; with `never_multiplex`, -EBUSY when not all
 * events are on the PMU at once, with one that is not in *err.
 */
int count_plan_make(const struct event_list *events, const struct perf_event_attr *attrs,
		    const struct count_kernel *kernel, bool never_multiplex,
		    struct count_plan *plan, struct error *err);
void count_plan_release(struct count_plan *plan);
