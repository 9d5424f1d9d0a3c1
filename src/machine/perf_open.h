/*
 * perf_open - perf_event_open(2), close-on-exec, with errors as values.
 */
#pragma once

#include <sys/types.h>

struct perf_event_attr;

/* Arguments as perf_event_open()'s. The descriptor or a negative errno value. */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	      unsigned long flags);
