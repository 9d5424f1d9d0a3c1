/*
 * stat_topdown - how `culprit stat --topdown` counts slots: a method for each core type.
 */
#pragma once

#include <stddef.h>

#include "analyze/counted/counts.h"
#include "cli/stat_options.h"
#include "machine/topdown.h"
#include "machine/topdown_events.h"

struct error;
struct event_list;
struct machine_root;
struct pmu_list;

struct stat_topdown_cores {
	struct topdown_method method;
	struct topdown_events events;
	char type[CPU_TEXT_SIZE]; /* "": there is one */
};

struct stat_topdown {
	struct stat_topdown_cores *cores; /* one for each core type */
	const char **types;		  /* their names, for struct counts; NULL: there is one */
	size_t count;
};

/* Chooses the methods of this machine and appends their events to *list. 0; -ENOENT where slots
 * cannot be counted, with the reason in *err; or another negative errno value. */
int stat_topdown_add_events(struct stat_topdown *topdown, const struct stat_options *options,
			    const struct machine_root *root, const struct pmu_list *pmus,
			    struct event_list *list, struct error *err);
void stat_topdown_release(struct stat_topdown *topdown); /* also right for a zeroed one */
/* Of the values of a row's events; results[i] of core type i. */
void stat_topdown_compute(const struct stat_topdown *topdown, const struct counts_value *values,
			  struct topdown *results);
