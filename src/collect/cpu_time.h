/*
 * cpu_time - how long each CPU was busy, by /proc/stat: the measure that the
 * samples of a clock must add up to. Busy is online - idle - iowait, as the
 * kernel counts them, in ticks of 1/USER_HZ.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct cpu_time {
	int known;			      /* the CPU has a line */
	uint64_t total_ns, idle_ns, steal_ns; /* idle: with iowait */
};

/* Fills times[slot] for cpus[slot] from the text of /proc/stat. */
void cpu_time_parse(struct span text, uint64_t tick_ns, const int *cpus, size_t count,
		    struct cpu_time *times);
/* 0 or negative errno; times are then unknown. */
int cpu_time_read(const int *cpus, size_t count, struct cpu_time *times);
