/*
 * stat_events - what `culprit stat` counts: the events of -e, those of metrics, or the usual ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/counted/counts.h"
#include "cli/stat_options.h"
#include "cli/stat_topdown.h"
#include "machine/event.h"
#include "machine/pmu.h"

struct count_set;

struct stat_events {
	struct pmu_list pmus;
	struct event_list list;
	struct counts_event *shown; /* as they are printed; one for each event */
	size_t shown_count;	    /* the first ones; those behind are for TopDown */
	struct stat_topdown topdown;
	bool usual; /* nothing was asked for */
};

/* 0, or the exit status after a message. */
int stat_events_make(struct stat_events *events, const struct stat_options *options);
/* After they are opened: names and scopes of those of which the kernel's part may not be counted.
 * 0, or the exit status after a message. */
int stat_events_settle(struct stat_events *events, const struct count_set *set);
void stat_events_release(struct stat_events *events); /* also right for a zeroed one */

/* Whether a switch of tasks is counted, which happens in the kernel: counted without the kernel's
 * part it would be 0. */
bool stat_event_is_switch(const struct event *event);
