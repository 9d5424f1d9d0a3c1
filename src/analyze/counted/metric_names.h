/*
 * metric_names - metrics that have a name of their own, as expressions of events.
 */
#pragma once

#include <stddef.h>

struct metric_name {
	const char *name;
	const char *expression;	 /* of the kernel's names of events (machine/event_names.h) */
	const char *description; /* one line without its full stop */
};

extern const struct metric_name metric_names[];
extern const size_t metric_name_count;

/* NULL: no metric has that name. */
const struct metric_name *metric_name_find(const char *name);
