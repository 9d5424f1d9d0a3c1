/*
 * watched_time - the CPU time of what a recording watches, by the kernel's own
 * books: of its command, or of running processes and threads between two
 * moments. Reports hold it against what was sampled.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct command;
struct process_time;
struct profile;

enum watched_samples {
	WATCHED_SAMPLES_COMMAND, /* the command, all of its time, is what is sampled */
	WATCHED_SAMPLES_OTHERS,
};

struct watched_time {
	/* What the caller fills; the lists are borrowed. */
	const pid_t *pids, *tids;
	size_t pid_count, tid_count;
	enum watched_samples samples;

	/* private */
	struct process_time *before; /* pids, then tids; NULL: not known */
	uint64_t start_ns;
};

/* Sampling begins, and the command is about to run. */
void watched_time_begin(struct watched_time *watched);
/*
 * Adds to the bill what is known now: the times of the command when it has ended,
 * those of processes and threads when all of them are still there. `command` may
 * be none. 0 or -ENOMEM.
 */
int watched_time_add(const struct watched_time *watched, const struct command *command,
		     struct profile *profile);
void watched_time_release(struct watched_time *watched);
