/*
 * stat_metrics - the metrics of -M: expressions of events, which are counted for them.
 */
#pragma once

#include <stddef.h>

#include "analyze/counted/counts.h"
#include "cli/stat_options.h"

struct error;
struct event_list;
struct expression;
struct pmu_list;

struct stat_metrics {
	struct counts_metric *list;
	struct expression *expressions; /* one for each */
	size_t count, event_count;
};

/* Adds the events that metrics of --metric consist of to *list, where they are not in it yet. 0 or
 * a negative errno value with *err. */
int stat_metrics_add_events(const struct stat_options *options, const struct pmu_list *pmus,
			    struct event_list *list, struct error *err);
/* `events`: those that stat_metrics_add_events() has added to. 0 or the exit status after a
 * message. */
int stat_metrics_make(struct stat_metrics *metrics, const struct stat_options *options,
		      const struct event_list *events);
void stat_metrics_release(struct stat_metrics *metrics); /* also right for a zeroed one */
/* Of the values of a row's events; results[i] of metric i. On machines with several core types an
 * event's name is its first one. */
void stat_metrics_compute(const struct stat_metrics *metrics, const struct counts_value *values,
			  struct counts_value *results);
