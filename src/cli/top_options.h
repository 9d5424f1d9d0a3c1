/*
 * top_options - what 'culprit top' is asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyze/report/report.h"
#include "cli/sampling_options.h"
#include "cli/task_list.h"

struct top_tasks {
	pid_t pids[TASK_LIST_MOST], tids[TASK_LIST_MOST];
	size_t pid_count, tid_count;
};

struct top_options {
	bool all_cpus, children, own, batch, has_window, has_times, has_limit, full_names;
	struct option_list pids, tids;
	const char *socket, *by, *sort, *search;
	uint64_t delay_ns, window_ns, times, limit;
	struct sampling_options sampling;
	struct report_options rows; /* their parts, by --by */
	struct top_tasks tasks;
};

/* The options, filled by top_options_read(). */
struct top_options *top_options(void);
const struct option *top_options_table(void);
/* 0 or the exit status. */
int top_options_read(int argc, char **argv);
/* The first option given that only a sampler of our own can follow, as "pid"; NULL: none, so that a
 * daemon's samples will do. */
const char *top_options_own(const struct top_options *options);
/* What --sort says, as struct report_options has it. */
const char *top_options_sort(const struct top_options *options);
