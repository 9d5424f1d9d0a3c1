/*
 * stat_run - one run of what `culprit stat` counts: starts the command, if there is one, waits for
 * its end or that of what is watched, and calls back at each interval.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "cli/stat_counting.h"
#include "cli/stat_options.h"

struct stat_control;

/* Signals that end counting; taken over once, for all runs. */
struct stat_signals {
	int fd; /* signalfd */
	sigset_t before;
};

/* What is counted, and how. */
struct stat_task {
	const struct stat_options *options;
	struct stat_events *events;
	struct stat_targets *targets;
	const struct stat_metrics *metrics;
	char *const *command; /* NULL: none */
	bool hide_output;     /* of the command, and nothing to read for it */
	struct stat_control *control;
	const struct stat_signals *signals;
	/* Called at each interval and, after intervals, at the end, with what was counted since
	   the last call. 0, or an exit status that ends counting. NULL: never. */
	int (*interval)(void *context, const struct counts *counts);
	uint64_t interval_ns;
	bool slices; /* look how rates vary, for the intervals of scaled counts */
	void *context;
};

/* NAN: not known. */
struct stat_times {
	double elapsed_s, user_s, system_s;
	double voluntary_switches, involuntary_switches;
};

struct stat_result {
	struct stat_times times;
	int status;	  /* the command's exit status; 0 without one */
	bool interrupted; /* a signal ended it */
	bool counted;	  /* the command ran: there is something to print */
};

/* Runs. The counters are open afterwards, and read; the caller closes them. 0, or the exit status
 * after a message: with result->counted false, of a command that cannot be run. */
int stat_run(const struct stat_task *task, struct stat_counting *counting,
	     struct stat_result *result);

/* 0 or the exit status after a message. */
int stat_signals_take(struct stat_signals *signals);
