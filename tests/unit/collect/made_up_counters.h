/*
 * made_up_counters - counters over events that are made up (support/made_up_events.h): a clock,
 * cycles with instructions in their group, and page faults, on CPUs 0 and 3.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/counters.h"
#include "machine/event.h"
#include "support/made_up_events.h"

enum { CLOCK, CYCLES, INSTRUCTIONS, FAULTS, EVENTS };

#define PAGES 8 /* of a ring */

struct scene {
	struct event_list events;
	struct perf_features features;
	struct cpu_set cpus;
	struct counters_options options;
	struct counters counters;
	struct error err;
};

/* Ready for scene_init(), or for options to be changed before. */
void scene_begin(struct scene *scene);
/* Ready for counters_open(). */
void scene_init(struct scene *scene);
/* Everything is open, and counts. */
void scene_open(struct scene *scene);
void scene_end(struct scene *scene);

struct made_up_event *scene_event(const struct scene *scene, size_t event, int cpu);
struct made_up_event *scene_sideband(int cpu);
