/*
 * stat_idle - how much of the time the CPUs were idle that a program may use: whoever was off the
 * CPU while others were not idle may have waited for one of them.
 */
#pragma once

#include <stddef.h>

struct cpu_set;
struct cpu_time;

struct stat_idle {
	int *cpus;
	size_t count; /* 0: not known */
	struct cpu_time *from;
};

/* Notes the time of these CPUs; *idle is zeroed, or was begun before. What cannot be read is not
 * known later. To be released also then. */
void stat_idle_begin(struct stat_idle *idle, const struct cpu_set *cpus);
/* Of the time of these CPUs since then; NAN where it is not known, or too short for the kernel's
 * ticks. */
double stat_idle_share(const struct stat_idle *idle);
void stat_idle_release(struct stat_idle *idle);
