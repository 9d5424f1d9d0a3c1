/*
 * group_reading - read(2) of a group of events. Inline for the sake of measurements.
 * Internal to count_set*.c and moment.c.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count/count_set_private.h"
#include "count/kernel.h"

/* What read(2) of a group returns: PERF_FORMAT_GROUP with both times. */
struct group_reading {
	uint64_t size, enabled_ns, running_ns;
	uint64_t counts[EVENT_GROUP_LIMIT + 1]; /* the clock of slice_ring.h is the last */
};

/*
 * read(2): bytes or a negative errno value; errno stays as it is.
 *
 * Inline, since each return of a function that a system call was made in is predicted wrongly: the
 * kernel's own calls have taken the place of this thread's in the CPU's stack of return addresses.
 * That is 12 to 17 ns a function, of 400 for reading a group (bench/count.sh).
 */
static inline ssize_t count_system_read(int fd, void *buffer, size_t size)
{
#if defined(__x86_64__)
	ssize_t result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_read), "D"((long)fd), "S"(buffer), "d"(size)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = fd;
	register void *x1 __asm__("x1") = buffer;
	register size_t x2 __asm__("x2") = size;
	register long x8 __asm__("x8") = SYS_read;
	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
	return x0;
#else
	int before = errno;
	ssize_t bytes = read(fd, buffer, size);
	if (bytes >= 0)
		return bytes;
	bytes = -errno;
	errno = before;
	return bytes;
#endif
}

static inline ssize_t count_group_bytes(const struct count_kernel *kernel, int fd, void *buffer,
					size_t size)
{
	if (kernel->read)
		return kernel->read(fd, buffer, size);
	ssize_t bytes;
	do
		bytes = count_system_read(fd, buffer, size);
	while (bytes == -EINTR);
	return bytes;
}

/*
 * What count_group_bytes() says once nobody who has inherited the group is starting or ending:
 * Linux adds events to a new thread or process one by one, and takes them away so, and has read(2)
 * of the group fail with ECHILD meanwhile (kernel/events/core.c, __perf_read_group_add(), Linux 6.6
 * and the stable ones of its time). That takes microseconds, unless the CPU is given to others.
 * -EAGAIN when it is never so for a second. Called where it has failed so.
 */
ssize_t count_group_bytes_at_rest(const struct count_kernel *kernel, int fd, void *buffer,
				  size_t size);

/* The descriptor of the group's first event that is open on the target; -1: none. */
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

/* Reads what is open of the group on the target. 0; -ENODATA when the kernel has nothing to say, as
 * of a pinned group that found no counters; or a negative errno value. */
static inline int count_group_read(const struct count_set *set, size_t target,
				   const struct count_group *group, struct group_reading *reading)
{
	int fd = count_group_leader(set, target, group);
	if (fd < 0)
		return -ENODATA;
	ssize_t bytes = count_group_bytes(set->kernel, fd, reading, sizeof(*reading));
	if (bytes == -ECHILD)
		bytes = count_group_bytes_at_rest(set->kernel, fd, reading, sizeof(*reading));
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
