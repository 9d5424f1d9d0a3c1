/*
 * task_open - perf_event_open(2) of another's task, which may take as long as that task likes: the
 * kernel waits until no execve() of it is under way, interrupted by signals alone. So a timer
 * interrupts it, again and again, to ask whether it is still wanted.
 */
#pragma once

#include <sys/types.h>

struct helper_watch;
struct perf_event_attr;

/* As perf_open(); also what watch->look() says, -ETIMEDOUT after two seconds. SIGALRM and the
 * process's timer of real time are used. `watch` may be NULL. */
int task_open(const struct perf_event_attr *attr, pid_t task, int cpu, int group_fd,
	      unsigned long flags, const struct helper_watch *watch);
