/*
 * perf_explain - why the kernel did not open an event, in words.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct event;

/*
 * Why opening failed, as one clause that names the cause as seen on this
 * machine: "permission denied (perf_event_paranoid is 4)", "this machine has no
 * hardware counters (no PMU)". Reads /proc; for error paths only.
 */
void perf_open_explain(const struct event *event, int code, pid_t pid, int cpu, char *text,
		       size_t size);
