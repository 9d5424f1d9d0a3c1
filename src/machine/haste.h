/*
 * haste - schedules a thread before all usual ones, by SCHED_RR at its least priority. Nice values
 * count only within a session's autogroup and a control group (sched(7)), so whoever keeps all CPUs
 * busy from another one could make it wait as long as he likes. It needs CAP_SYS_NICE or
 * RLIMIT_RTPRIO.
 *
 * A pid names that process's first thread, 0 the calling thread, whatever others its process has;
 * all that this keeps is kept for each thread of ours by itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How a thread was scheduled before; zeroed at first. */
struct haste_usual {
	bool raised; /* else there is nothing to undo */
	int policy, priority;
};

/* Raises the thread; its children are not raised. False, with nothing changed:
 * that is not allowed, or it has a real-time policy already. */
bool haste_raise(pid_t pid, struct haste_usual *usual);
void haste_restore(pid_t pid, struct haste_usual *usual);
/* As haste_raise(0), for at most `most_ns`: a SIGALRM then undoes it, whatever the caller is doing.
 * The handler of SIGALRM belongs to this file until haste_restore(0): one thread of a process at a
 * time. */
bool haste_raise_for(uint64_t most_ns, struct haste_usual *usual);

/* Gives a child that was just forked, by whomever, the policy and nice value that the calling
 * thread has when it is not raised: a child of a raised one begins with the default ones
 * (SCHED_RESET_ON_FORK). */
void haste_follow(pid_t child);

/* Sets the caller's nice value for good, and so that of its later children: who needs little CPU
 * gets it soon among others of its session and control group. Does nothing where that is not
 * allowed, or the value is not 0. */
#define HASTE_NICE (-10)
void haste_prefer(void);

#define HASTE_UNKNOWN UINT64_MAX
/* How long the thread was ready to run and had no CPU since it began, by /proc/PID/schedstat; or
 * HASTE_UNKNOWN. */
uint64_t haste_waited_ns(pid_t pid);
