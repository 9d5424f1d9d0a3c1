/*
 * perf_explain - why the kernel did not open an event, in words.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct event;

/*
 * Writes why opening `event` failed with `code`, as one clause with the cause on this
 * machine: "permission denied (perf_event_paranoid is 4)", "this machine has no hardware
 * counters (no PMU)". `pid` and `cpu` are those of perf_event_open(2). Reads /proc and /sys:
 * for error paths only.
 */
void perf_open_explain(const struct event *event, int code, pid_t pid, int cpu, char *text,
		       size_t size);
