/*
 * watched_time - the CPU time of what a recording watches, as the kernel accounts
 * it: of its command, or of running threads, running processes and what these start,
 * between two moments. Reports compare it with what was sampled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/descendants.h"

struct command;
struct profile;

enum watched_samples {
	WATCHED_SAMPLES_COMMAND, /* all of the command's time is sampled, and nothing else */
	WATCHED_SAMPLES_OTHERS,	 /* something else is: the command's time is no measure of it */
};

struct watched_ticks {
	uint64_t start_ticks; /* since boot; tells apart threads that had the same number */
	uint64_t user_ticks, system_ticks;
};

struct watched_time {
	/* What the caller fills; the lists are borrowed. */
	const pid_t *pids, *tids;
	size_t pid_count, tid_count;
	bool children; /* of `pids`: the processes that are below them already, too */
	enum watched_samples samples;

	/* private */
	struct descendants before; /* of `pids` */
	struct watched_ticks *threads;
	uint64_t start_ns;
	bool begun, known;		   /* the first reading, and both, were complete */
	uint64_t user_ticks, system_ticks; /* used between them; 1/USER_HZ */
};

/* To be called when sampling begins and the command is about to run. `ask`: the collector's. */
void watched_time_begin(struct watched_time *watched, const struct proc_ask *ask);
/* To be called when sampling is about to end: what processes use from here on does not count. */
void watched_time_end(struct watched_time *watched, const struct proc_ask *ask);
/*
 * Adds to the bill what is known: the times of the command when it has ended, those
 * of processes and threads when all of `pids` and `tids` were still there at the
 * end. `command` may be zeroed. 0 or -ENOMEM.
 */
int watched_time_add(const struct watched_time *watched, const struct command *command,
		     struct profile *profile);
void watched_time_release(struct watched_time *watched); /* may begin anew afterwards */
