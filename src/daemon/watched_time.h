/*
 * watched_time - the CPU time of what a recording watches, by the kernel's own
 * books: of its command, or of running processes, what they start and threads
 * between two moments. Reports hold it against what was sampled.
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
	WATCHED_SAMPLES_COMMAND, /* the command, all of its time, is what is sampled */
	WATCHED_SAMPLES_OTHERS,
};

struct watched_ticks {
	uint64_t start_ticks; /* since boot: with the number, who it is */
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
	bool begun, known; /* what was used, from begin to end */
	uint64_t user_ticks, system_ticks;
};

/* Sampling begins, and the command is about to run. `ask`: the collector's. */
void watched_time_begin(struct watched_time *watched, const struct proc_ask *ask);
/* Sampling is about to end: what running processes use from here on is not in it. */
void watched_time_end(struct watched_time *watched, const struct proc_ask *ask);
/*
 * Adds to the bill what is known: the times of the command when it has ended,
 * those of processes and threads when all that were asked for were there at the
 * end. `command` may be none. 0 or -ENOMEM.
 */
int watched_time_add(const struct watched_time *watched, const struct command *command,
		     struct profile *profile);
void watched_time_release(struct watched_time *watched);
