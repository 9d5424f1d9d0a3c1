/*
 * proc_stat - what /proc/PID/stat says of a process or a thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct proc_stat {
	uint32_t pid, parent;
	struct span name; /* borrowed from the text */
	char state;	  /* R, S, ...; Z: ended, and nobody has waited for it */
	uint32_t flags;	  /* PF_* of include/linux/sched.h */
	uint32_t threads;
	uint64_t user_ticks, system_ticks; /* of all its threads, in 1/USER_HZ */
	/* Of its children that have ended and were waited for, and of theirs. */
	uint64_t children_user_ticks, children_system_ticks;
	uint64_t start_ticks; /* since boot */
};

/* False when the text is not that of such a file. The name may hold anything, also blanks and
 * parentheses. */
bool proc_stat_parse(struct span text, struct proc_stat *stat);
