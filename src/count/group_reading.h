/*
 * group_reading - what one read(2) of a group of events returns. Internal to count_set*.c and
 * moment.c.
 *
 * Inline, since a CPU that has been in the kernel predicts no return (its mitigations empty the
 * stack of addresses): each level of calls between a measurement and read(2) costs it some 10 ns.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "count/count_set_private.h"
#include "count/kernel.h"

/* PERF_FORMAT_GROUP with both times. */
struct group_reading {
	uint64_t size, enabled_ns, running_ns;
	uint64_t counts[EVENT_GROUP_LIMIT + 1]; /* the clock of slice_ring.h is the last */
};

/* The descriptor of the group's first event that is open on the target; -1: none is. */
static inline int count_group_leader(const struct count_set *set, size_t target,
				     const struct count_group *group)
{
	for (size_t i = 0; i < group->size; i++) {
		int fd = count_slot_of(set, target, set->plan.members[group->first + i])->fd;
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* The real kernel's without a detour; the same otherwise. */
static inline ssize_t count_group_bytes(const struct count_kernel *kernel, int fd,
					struct group_reading *reading)
{
	if (kernel != &count_kernel_real)
		return kernel->read(fd, reading, sizeof(*reading));
	ssize_t bytes;
	do
		bytes = read(fd, reading, sizeof(*reading));
	while (bytes < 0 && errno == EINTR);
	return bytes < 0 ? -errno : bytes;
}

/* Reads what is open of the group on the target. 0; -ENODATA when the kernel has nothing to say, as
 * of a pinned group that found no counters; or a negative errno value. */
static inline int count_group_read(const struct count_set *set, size_t target,
				   const struct count_group *group, struct group_reading *reading)
{
	int fd = count_group_leader(set, target, group);
	if (fd < 0)
		return -ENODATA;
	ssize_t bytes = count_group_bytes(set->kernel, fd, reading);
	if (bytes < 0)
		return (int)bytes;
	/* perf_event_open(2): end of file when a pinned event is in the error state */
	size_t header = offsetof(struct group_reading, counts);
	if ((size_t)bytes < header)
		return -ENODATA;
	if (reading->size > EVENT_GROUP_LIMIT + 1 ||
	    ((size_t)bytes - header) / sizeof(uint64_t) < reading->size)
		return -EIO;
	return 0;
}
