/*
 * cpu_time - how long each CPU was busy, by /proc/stat (proc(5)): the measure that the
 * samples of a clock must add up to. Busy is wall - idle - iowait: the other fields are
 * not used, since in virtual machines ticks are skipped and they fall short. The
 * resolution is a tick of 1/USER_HZ.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct cpu_time {
	bool known;		    /* /proc/stat has a line of the CPU */
	uint64_t wall_ns;	    /* when it was read, by CLOCK_MONOTONIC */
	uint64_t idle_ns, steal_ns; /* idle: with iowait */
};

/* Fills times[slot] for cpus[slot] from the text of /proc/stat. */
void cpu_time_parse(struct span text, uint64_t wall_ns, uint64_t tick_ns, const int *cpus,
		    size_t count, struct cpu_time *times);
/* What passed between two readings of one CPU. The kernel's figures may go back: iowait by a tick
 * now and then (proc(5)), idle time when a CPU was offline, stolen time when a virtual machine was
 * migrated. Then 0. */
static inline uint64_t cpu_time_idle_ns(const struct cpu_time *from, const struct cpu_time *to)
{
	return to->idle_ns > from->idle_ns ? to->idle_ns - from->idle_ns : 0;
}

static inline uint64_t cpu_time_steal_ns(const struct cpu_time *from, const struct cpu_time *to)
{
	return to->steal_ns > from->steal_ns ? to->steal_ns - from->steal_ns : 0;
}

static inline uint64_t cpu_time_busy_ns(const struct cpu_time *from, const struct cpu_time *to)
{
	uint64_t wall = to->wall_ns - from->wall_ns;
	uint64_t idle = cpu_time_idle_ns(from, to);
	return wall > idle ? wall - idle : 0; /* idle is known to a tick only */
}
/*
 * For a CPU that was offline for `away_ns` and is back; since the last reading it was online for
 * `online_ns`, and the kernel has added `idle_ns` of idle time. Some kernels (6.1) now and then
 * count the time offline as idle, all of it: surely not where `idle_ns` is less than `away_ns`,
 * surely where it is more than `online_ns`. Stores how much of the idle time was spent offline.
 * False when both are possible, and the absence is long enough to matter.
 */
bool cpu_time_idle_offline(uint64_t idle_ns, uint64_t online_ns, uint64_t away_ns,
			   uint64_t *offline_ns);
/* Reads /proc/stat. 0, or a negative errno: all times are then unknown. */
int cpu_time_read(const int *cpus, size_t count, struct cpu_time *times);
