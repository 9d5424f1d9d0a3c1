/*
 * topdown_events - the events of a way of counting slots (topdown_method.h) in a list of events,
 * and the figures of what was counted of them.
 */
#pragma once

#include <stddef.h>

#include "machine/topdown_method.h"

struct error;
struct event_list;
struct pmu_list;

/* Where the events of a method are. */
struct topdown_events {
	size_t first, count;		 /* in the list */
	size_t event_of[TOPDOWN_EVENTS]; /* number in the list of each; SIZE_MAX: it was not needed
					  */
};

/* Appends those that figures up to level `levels` need, group by group; `pmu` is the name of the
 * PMU of the method's cores. 0, or a negative errno value with *err and the list as before. */
int topdown_events_add(const struct topdown_method *method, const char *pmu, unsigned levels,
		       const struct pmu_list *pmus, struct event_list *list,
		       struct topdown_events *events, struct error *err);
