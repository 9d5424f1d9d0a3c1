/*
 * process_time - the CPU time that a process or thread has used so far, as
 * /proc/PID/stat says: of a process with the children that it has waited for.
 * Its unit there is the kernel's tick, mostly 10 ms.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"

struct process_time {
	uint64_t user_ns, system_ns;
	uint64_t start_ticks; /* since boot: with the number, who it is */
};

enum process_time_of { PROCESS_TIME_PROCESS, PROCESS_TIME_THREAD };

/* Reads the text of a stat file. 0, or -EBADMSG. */
int process_time_parse(struct span text, enum process_time_of of, uint64_t tick_ns,
		       struct process_time *time);
/* 0 or negative errno: -ENOENT when it is gone. */
int process_time_read(pid_t id, enum process_time_of of, struct process_time *time);
