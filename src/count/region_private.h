/*
 * region_private - what struct culprit_regions consists of, for the files that implement
 * culprit/region.h.
 *
 * A thread finds its stack by a thread-local variable, which knows the regions that it joined last,
 * and those of others by a key of pthreads. Where the variable is the program's own, as with the
 * static library, that saves 4 of 48 ns; in a shared library both take as long. Stale ones are told
 * by the number of the regions, which no others get.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "count/moment.h"
#include "count/region_cost.h"
#include "count/region_tally.h"
#include "count/ticks.h"
#include "culprit/region.h"

struct count_world;
struct culprit_counters;
struct region_summary;

#define REGION_QUANTITIES (1 + CULPRIT_REGION_EVENTS) /* the time is the first */
/* Two more than users have are those that a thread calibrates with, each only while it joins. */
#define REGION_NUMBERS (CULPRIT_REGION_NAMES + 2)

struct culprit_region {
	struct culprit_regions *regions;
	pthread_key_t key; /* of the regions, as is the id */
	uint32_t number;
	uint64_t id;
	_Atomic uint64_t not_joined;
	char *name;
};

/* A region that has begun. */
struct region_frame {
	/* The region; NULL where its end has more to do than to read the clock. */
	struct culprit_region *plain_region;
	struct culprit_region *region;
	uint64_t ticks;
	uint64_t inner; /* regions that began and ended since, at any depth */
};

/*
 * Regions that a thread is in; the thread's own. It lies in pages that are zeros in the child of a
 * fork (madvise(2), MADV_WIPEONFORK): there it is not `live`, `top` is a frame of no region,
 * `plain_last` is 0, and nothing is measured.
 *
 * Frames are given by their distance from the stack in bytes. The first one is only for that child.
 * The second is of no region: it stands for what is outside of all. So is the last: it is the top
 * while regions are deeper than there are frames.
 */
struct region_stack {
	struct region_frame frames[2 + CULPRIT_REGION_DEPTH + 1];
	uint32_t top; /* of the innermost region */
	/* The last frame that can be had, or one of enum region_way. */
	_Atomic uint32_t plain_last;
	struct region_price prices[REGION_QUANTITIES];
	struct region_cells *_Atomic cells[REGION_NUMBERS];
	bool live;
	uint32_t usual_last;
	uint32_t deeper; /* regions than frames */
	size_t events;
	struct culprit_counters *counters; /* NULL: the clock alone */
	struct tick_source clock;
	struct region_thread *thread;
	struct count_moment moments[]; /* [frame, from the third][event] */
};

/* Below every frame, so that begin finds none that it could have without looking closer. */
enum region_way {
	REGION_GENERAL, /* there are events, or the clock is not the instruction */
	REGION_WRITING, /* the thread writes cells, and a signal handler must not */
};

#define REGION_FIRST_FRAME ((uint32_t)sizeof(struct region_frame)) /* outside of all */
#define REGION_LAST_FRAME  ((1 + CULPRIT_REGION_DEPTH) * (uint32_t)sizeof(struct region_frame))

static inline bool region_stack_is_live(const struct region_stack *stack)
{
	return stack && stack->live;
}

/* Written by joining and leaving alone. */
struct region_here {
	uint64_t id;
	struct region_stack *stack;
};
extern __thread struct region_here region_here __attribute__((visibility("hidden")));

/* A signal handler finds the old ones, none or the new ones: never the stack of others. */
static inline void region_here_set(uint64_t id, struct region_stack *stack)
{
	region_here.id = 0;
	atomic_signal_fence(memory_order_seq_cst);
	region_here.stack = stack;
	atomic_signal_fence(memory_order_seq_cst);
	region_here.id = id;
}

/* What a thread that has left measured of one region. */
struct region_remainder {
	uint64_t mismatched, omitted;
	struct culprit_region_event quantities[];
};

/* A thread that has joined, or had. */
struct region_thread {
	struct region_thread *next; /* which joined later */
	struct culprit_regions *regions;
	int tid;
	struct region_stack *stack; /* NULL after it has left */
	struct culprit_counters *counters;
	struct region_cost costs[REGION_QUANTITIES];
	/* What it measured: in cells, and of a thread that has left in remainders, with the rest of
	   it in the region's summaries. */
	struct region_cells *_Atomic cells[REGION_NUMBERS];
	struct region_remainder *remainders[CULPRIT_REGION_NAMES];
	bool listed[CULPRIT_REGION_NAMES]; /* has a row among the results */
};

struct culprit_regions {
	const struct count_world *world;
	uint64_t id; /* from 1; of no other regions that this process has or had */
	pthread_key_t key;
	struct tick_source clock;
	_Atomic pid_t lock; /* the process that holds it; 0: none (region_lock()) */
	pid_t pid;	    /* of which threads take part; after a fork the parent's */
	/* As they were given. */
	char *events; /* NULL: the clock alone */
	struct culprit_options options;
	char *definitions;

	struct arena arena; /* texts of events and names */
	size_t event_count;
	struct culprit_event described[CULPRIT_REGION_EVENTS];
	bool substitute[CULPRIT_REGION_EVENTS];
	double scales[REGION_QUANTITIES]; /* of a tick in ns, and of a count in the event's unit */
	struct culprit_region *all[CULPRIT_REGION_NAMES];
	size_t count;
	size_t listed; /* regions among the results */
	struct region_thread *threads, **last;
	/* Of threads that have left: [region] of event_count + 1 summaries; NULL without any. */
	struct region_summary *left[CULPRIT_REGION_NAMES];
	uint64_t left_mismatched[CULPRIT_REGION_NAMES], left_omitted[CULPRIT_REGION_NAMES];
	struct region_thread *forgotten; /* the parent's threads, of which stacks may be in use */
};

/* culprit_regions_open() in another world than the real one: for tests. */
int regions_open(const char *events, const struct culprit_options *options,
		 const struct count_world *world, struct culprit_regions **regions,
		 struct culprit_error *error);

/*
 * Taken by everything that sets up, reads or takes down, never by begin and end. It belongs to a
 * process, so that a child that was forked while another thread held it can go on; the
 * first to take it in a child forgets what the parent's threads measured.
 */
void region_lock(struct culprit_regions *regions);
void region_unlock(struct culprit_regions *regions);

/* For the key: a thread ends that has not left. */
void region_thread_ends(void *stack);
/* With the lock held: gives every thread that takes part cells for the region. 0 or -ENOMEM. */
int region_threads_add_cells(struct culprit_regions *regions, uint32_t number);
void region_threads_free(struct culprit_regions *regions);

/* Measures what begin and end cost the calling thread, whose stack it is. 0 or -ENOMEM. */
int region_calibrate(struct culprit_regions *regions, struct region_stack *stack,
		     struct region_cost *costs);
