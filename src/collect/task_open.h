/*
 * task_open - perf_event_open(2) of another's task, which may take as long as that task likes: the
 * kernel waits until no execve() of it is under way, interrupted by signals alone. So a timer
 * interrupts it, again and again, to ask whether it is still wanted. The timer and its signal
 * (SIGRTMIN) are its own: who is asked may use SIGALRM, as machine/haste.h does.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct helper_watch;
struct perf_event_attr;

/* For all tasks together: a second one that makes us wait is not waited for as long again. */
struct task_patience {
	const struct helper_watch *watch; /* borrowed; NULL: nobody is asked */
	uint64_t left_ns;
};
#define TASK_PATIENCE_NS UINT64_C(2000000000) /* at first */

/* As perf_open(); also what watch->look() says; -ETIMEDOUT when patience has come to its end and
 * some 20 ms have passed. */
int task_open(const struct perf_event_attr *attr, pid_t task, int cpu, int group_fd,
	      unsigned long flags, struct task_patience *patience);
