/*
 * slice_ring - the kernel notes what a group of events stands at, some hundred times a second while
 * it is on the PMU: a clock is a member of the group, and its samples read all of it
 * (PERF_SAMPLE_READ) into a ring. Out of them come slices (slices.h), one for each time that the
 * group was put back on the PMU.
 *
 * Nothing interrupts the program but the clock's own interrupt; nobody reads the ring before a
 * measurement ends. A ring that is full leaves later slices out: they are a sample of all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/slices.h"
#include "machine/event.h"
#include "machine/perf_ring.h"

struct count_kernel;
struct count_target;
struct perf_event_attr;

struct slice_ring {
	int fd; /* -1: there is none */
	struct perf_ring ring;
	size_t map_bytes;
	/* What the group stood at in the sample before, and where the slice began. */
	struct slice_mark {
		bool known;
		uint64_t enabled_ns, running_ns;
		uint64_t counts[EVENT_GROUP_LIMIT];
	} last, begin;
	struct slices slices[EVENT_GROUP_LIMIT]; /* of each member */
};

/*
 * Makes the clock a member of the group that `leader_fd` leads and that `leader` is the attr of. 0,
 * or a negative errno value; the group counts as before without it.
 */
int slice_ring_open(struct slice_ring *slices, const struct count_kernel *kernel, int leader_fd,
		    const struct perf_event_attr *leader, const struct count_target *target);
/* `mapped`: its pages are in this process's memory (own_process.h). */
void slice_ring_close(struct slice_ring *slices, const struct count_kernel *kernel, bool mapped);

/* A measurement begins: what the ring holds was before. */
void slice_ring_begin(struct slice_ring *slices);
/* Takes out of the ring what came until the group had been enabled for `until_ns`. */
void slice_ring_take(struct slice_ring *slices, uint64_t until_ns);
