/*
 * target - of whom events are counted.
 */
#pragma once

#include <sys/types.h>

/* As the arguments of perf_event_open(2). */
struct count_target {
	pid_t pid; /* 0: the calling thread; -1: everything on `cpu` */
	int cpu;   /* -1: any */
};
