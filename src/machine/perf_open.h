/*
 * perf_open - perf_event_open(2), close-on-exec, with errors as values.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct event;
struct perf_event_attr;

/* The descriptor or a negative errno value. */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
	      unsigned long flags);

/*
 * Why opening failed, as one clause that names the cause as seen on this
 * machine: "permission denied (perf_event_paranoid is 4)", "this machine has no
 * hardware counters (no PMU)". Reads /proc; for error paths only.
 */
void perf_open_explain(const struct event *event, int code, pid_t pid, int cpu, char *text,
		       size_t size);
