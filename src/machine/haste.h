/*
 * haste - lets a process go before all usual ones, by SCHED_RR's least priority: nice values weigh
 * within one session's autogroup and one control group alone, so whoever keeps all CPUs busy from
 * others would make it wait as long as he likes. It needs CAP_SYS_NICE or a limit of real-time
 * priority. A process's first thread is meant; not for processes with several.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How it was scheduled before. */
struct haste_usual {
	bool raised; /* else nothing has to be undone */
	int policy, priority;
};

/* What it forks meanwhile is not raised. False, and nothing happens: we may not, or it goes before
 * others already. 0 is oneself. */
bool haste_raise(pid_t pid, struct haste_usual *usual);
void haste_restore(pid_t pid, struct haste_usual *usual);
/* As haste_raise(0), for `most_ns` at the longest, whatever we do meanwhile: a SIGALRM, whose
 * handling is ours until haste_restore(0), makes us what we were. */
bool haste_raise_for(uint64_t most_ns, struct haste_usual *usual);

/* Of a child that was just forked: as we are when we are not raised, nice value and all, for the
 * kernel has made it any process with a nice value of 0 when we are. */
void haste_follow(pid_t child);

/* For good, of oneself and what one forks from here on: a nice value that gets what little it needs
 * soon among others of its session and control group. Nothing happens where we may not, or somebody
 * has chosen another value than 0. */
#define HASTE_NICE (-10)
void haste_prefer(void);

#define HASTE_UNKNOWN UINT64_MAX
/* How long it was ready to run and had no CPU, ever, in ns (/proc/PID/schedstat). */
uint64_t haste_waited_ns(pid_t pid);
