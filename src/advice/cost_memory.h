/*
 * cost_memory - what a sample costs, remembered from one recording to the next: for an hour of the
 * same boot, in a file below a folder of the user's own, which should not outlive the boot. A file
 * or folder that others than the user can write is not believed. NULL as the folder: nothing is
 * remembered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advice/sample_cost.h"

struct event;

#define COST_MEMORY_VALID_NS UINT64_C(3600000000000)
#define COST_MEMORY_ENTRIES  32u /* the oldest makes room */
#define COST_MEMORY_BUSY                                                                           \
	0.05 /* where other work took more of the time, the cost is of that, too                   \
	      */

/* What the cost depends on but for the machine: the event as it is opened, and what is added to its
 * samples (0: nothing). */
uint64_t cost_memory_key(const struct event *event, unsigned extra);

/* What was remembered at most COST_MEMORY_VALID_NS before `now_ns` (clock_boot_ns()), and how long
 * that is ago. False: nothing. */
bool cost_memory_find(const char *folder, uint64_t key, uint64_t now_ns, struct sample_cost *cost,
		      uint64_t *age_ns);
/* Remembers a cost that was measured now, if the machine was idle enough. 0, also where it was not
 * or there is no folder for it; or a negative errno, and then what was known before still is. */
int cost_memory_put(const char *folder, uint64_t key, uint64_t now_ns,
		    const struct sample_cost *cost);
