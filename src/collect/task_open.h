/*
 * task_open - perf_event_open(2) for a task, which may take as long as that task likes: the kernel
 * waits until no execve() of the task is under way, and only a signal interrupts the wait. So a
 * timer interrupts it again and again, to look whether it is still wanted. The timer uses
 * SIGRTMIN, since watch->look() may use SIGALRM (machine/haste.h).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct helper_watch;
struct perf_event_attr;

/* How long may be waited for all tasks together. */
struct task_patience {
	const struct helper_watch *watch; /* may end the wait; borrowed; NULL: nothing does */
	uint64_t left_ns;		  /* of TASK_PATIENCE_NS */
};
#define TASK_PATIENCE_NS UINT64_C(2000000000) /* at first */

/* As perf_open(); or what watch->look() returned to end the wait; or -ETIMEDOUT when
 * patience->left_ns is used up, but not before some 20 ms have passed. */
int task_open(const struct perf_event_attr *attr, pid_t task, int cpu, int group_fd,
	      unsigned long flags, struct task_patience *patience);
