/*
 * made_up_events - a perf_event_open(2) that needs no rights and no PMU. A test program that has
 * `made_up_events` among its dependencies opens events that exist here alone: perf_open(), and
 * ioctl(), read(), mmap() and close() of what it gave, are linked to these (ld --wrap). The test
 * says what the events have counted and writes records into their rings, as the kernel would.
 *
 * All descriptors but those of made-up events are the kernel's, as ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>

struct buffer;

#define MADE_UP_MOST 512 /* events opened since the last made_up_begin(); one more is -EMFILE */

struct made_up_event {
	int fd; /* -1: closed */
	struct perf_event_attr attr;
	pid_t task;
	int cpu;
	int leader_fd; /* -1: it leads, or stands alone */
	unsigned long flags;
	uint64_t id;
	bool counts;		   /* it was enabled */
	unsigned times_enabled;
	unsigned refused_controls; /* so many ioctl() fail with EIO from now on */
	/* What reading it returns. */
	uint64_t value, enabled_ns, running_ns, lost;
	/* With a rate it counts by itself while it is enabled, so many a us; the test leaves the
	   three above alone then. */
	uint64_t rate;
	/* Private. */
	uint64_t counted_ns; /* by CLOCK_MONOTONIC, with a rate: until when it counted */
	int other_end;
	int output_fd; /* into whose ring it writes; -1: into its own */
	void *ring;
	size_t data_bytes;
};

struct made_up_kernel {
	struct made_up_event events[MADE_UP_MOST]; /* in the order of opening */
	size_t count;
	/* 0, or the negative errno that opening ends with. NULL: all are opened. */
	int (*judge)(const struct perf_event_attr *attr, pid_t task, int cpu);
	/* Counters of the PMU: events that this thread has for itself (with neither CPU nor period)
	   run while they are no more than these. made_up_begin() gives it enough for all. */
	size_t counters;
	size_t pages_most; /* of a ring's data: mapping more is -EPERM; 0: no limit */
	bool refuses_output; /* into another event's ring */
};
extern struct made_up_kernel made_up;

/* Forgets all that was opened. */
void made_up_begin(void);
size_t made_up_open_count(void);
/* The event opened last that is still open, of that type and config on that CPU; NULL: none. */
struct made_up_event *made_up_find(uint32_t type, uint64_t config, int cpu);

/* Moves the records into the ring that the event writes to. False: it has no room, and nothing was
 * written. */
bool made_up_write(struct made_up_event *event, struct buffer *records);
/* The control page of its ring. */
struct perf_event_mmap_page *made_up_control(struct made_up_event *event);
/* From now on its descriptor polls readable. */
void made_up_wake(const struct made_up_event *event);
