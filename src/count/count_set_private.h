/*
 * count_set_private - what a set of counters consists of. Internal to count_set*.c and moment.c.
 */
#pragma once

#include <linux/perf_event.h>

#include "count/count_plan.h"
#include "count/count_set.h"
#include "count/own_process.h"
#include "count/slice_ring.h"
#include "machine/event.h"

/* One event on one target. */
struct count_slot {
	int fd; /* -1: not open, see state */
	enum count_state state;
	int code;
	struct perf_event_mmap_page *page; /* NULL: not mapped */
};

struct count_set {
	const struct count_kernel *kernel;
	const struct event_list *events;
	struct perf_event_attr *attrs; /* of each event, as it is opened */
	bool user_only;		       /* as count_options */
	size_t target_count;
	struct count_target *targets;
	struct count_slot *slots; /* [target][event] */
	struct count_plan plan;
	bool all_live;		  /* every group is, and none takes turns */
	struct slice_ring *rings; /* of each group on the first target; NULL: none at all */
	size_t page_bytes;
	struct own_process own; /* else the pages are not there */
};

static inline struct count_slot *count_slot_of(const struct count_set *set, size_t target,
					       size_t event)
{
	return &set->slots[target * set->events->count + event];
}

/* Opens rings for the groups that share their PMU, where there is room for them. 0 or -ENOMEM. */
int count_set_open_rings(struct count_set *set, struct error *err);
void count_set_close_rings(struct count_set *set, bool mapped);
