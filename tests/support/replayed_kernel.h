/*
 * replayed_kernel - a test double of the boundary between counting and the kernel (count/kernel.h):
 * a PMU with as many counters as the test says, whose counts, pages and refusals the test replays.
 * It does nothing by itself: a count advances when the test says so.
 *
 * One at a time, for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#include "count/kernel.h"

#define REPLAYED_EVENTS	  256
#define REPLAYED_COUNTERS 64

struct replayed_event {
	struct perf_event_attr attr;
	pid_t pid;
	int cpu;
	int leader; /* number of the event that leads; its own */
	bool open, enabled;
	bool in_error; /* pinned, and without a counter: read(2) returns 0 bytes */
	uint64_t count, enabled_ns, running_ns;
	struct perf_event_mmap_page *page; /* NULL: not mapped */
};

struct replayed_kernel {
	struct replayed_event events[REPLAYED_EVENTS]; /* in the order of opening */
	size_t count;
	size_t open, most_open; /* now; more than this is -EMFILE, 0: no limit */
	/* 0 or the negative errno value that opening ends with. NULL: all are opened. */
	int (*judge)(const struct perf_event_attr *attr, pid_t pid, int cpu);
	/* How many hardware events may be on the PMU at once, of all groups; a group that is too
	   much is never on it. 0: no limit. */
	size_t pmu_counters;
	bool refuses_large_groups; /* than pmu_counters, when opening their events: -EINVAL */
	int read_fails;		   /* negative errno value; 0: reads succeed */
	size_t read_failures;	   /* so many times; 0: each time */
	bool maps_nothing;	   /* map() returns NULL */
	bool has_rdpmc;		   /* pages say cap_user_rdpmc */
	unsigned width;		   /* of counters, in bits; 0 is 48 */
	size_t reads, counter_reads, controls; /* calls */
	uint64_t counters[REPLAYED_COUNTERS];  /* what the instruction reads, by number */
	uint64_t ticks;
	/* Called before a counter is read by the instruction: the kernel interrupts between. */
	void (*interrupt)(uint32_t counter);
};

extern struct replayed_kernel replayed;
extern const struct count_kernel count_kernel_replayed;

/* Forgets all; frees the pages that were not unmapped. */
void replayed_begin(void);
/* The open event of that type and config that was opened last; NULL: none. */
struct replayed_event *replayed_find(uint32_t type, uint64_t config);
/* On the PMU as counter `counter`, from `offset` on: the kernel writes its page. */
void replayed_schedule(struct replayed_event *event, uint32_t counter, int64_t offset);
/* The kernel writes a sample with `size` words of PERF_SAMPLE_READ into the event's ring of
 * `data_bytes`. */
void replayed_sample(struct replayed_event *event, size_t data_bytes, const uint64_t *words,
		     size_t size);
/* Off the PMU; what it has counted is in the page's offset. */
void replayed_take_off(struct replayed_event *event);
