/*
 * kernel - the boundary between counting and the kernel: system calls and instructions that read
 * counters. Everything in src/count passes through it, so that tests can replay what kernels and
 * PMUs do that this machine cannot show (tests/support/replayed_kernel.h).
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

struct perf_event_attr;
struct perf_event_mmap_page;

struct count_kernel {
	/* As perf_open(): the descriptor or a negative errno value. */
	int (*open)(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags);
	/* Bytes or a negative errno value. NULL: the system call itself, inline. Called by
	 * count_kernel_read(). */
	ssize_t (*read)(int fd, void *buffer, size_t size);
	/* 0 or more, or a negative errno value. */
	int (*control)(int fd, unsigned long request, unsigned long argument);
	/* The first page of the event and its ring of `size` bytes in all; NULL when refused. */
	void *(*map)(int fd, size_t size);
	void (*unmap)(void *pages, size_t size);
	void (*close)(int fd);
	/* The counter of perf_event_mmap_page.index - 1, as the instruction reads it. NULL: read by
	   the instruction itself, inline. */
	uint64_t (*read_counter)(uint32_t counter);
	uint64_t (*ticks)(void); /* what the page's time_* are relative to; NULL: the instruction */
};

extern const struct count_kernel count_kernel_real;

static inline ssize_t count_kernel_read(const struct count_kernel *kernel, int fd, void *buffer,
					size_t size)
{
	if (kernel->read)
		return kernel->read(fd, buffer, size);
	ssize_t bytes;
	do
		bytes = read(fd, buffer, size);
	while (bytes < 0 && errno == EINTR);
	return bytes < 0 ? -errno : bytes;
}

/* The kernel and the folder that /proc and /sys are in: of this machine, or of a test. */
struct count_world {
	const struct count_kernel *kernel;
	const char *root;
};

extern const struct count_world count_world_real;
