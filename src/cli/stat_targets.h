/*
 * stat_targets - on whom `culprit stat` counts, and to which row of its output each belongs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cli/stat_options.h"
#include "count/count_set.h"
#include "machine/cpu_set.h"

struct stat_targets {
	struct count_target *list;
	size_t *row_of; /* of each target */
	size_t count;
	const char **labels; /* of each row; NULL: all together */
	size_t *cpus_of;     /* how many CPUs a row has; 0 where it is not one of cores */
	size_t row_count;
	bool system_wide;	      /* whole CPUs */
	double cpus;		      /* that what is watched may use; NAN: not known */
	struct cpu_set allowed;	      /* these, of tasks; empty: not known */
	const char *subject;	      /* "'sleep 1'", "process id '12'", "'system wide'" */
	pid_t *tasks;		      /* of --pid and --tid, whose end ends counting */
	size_t task_count, pid_count; /* the first `pid_count` of them are processes */
	struct arena arena;
};

/*
 * What runs already: processes with their threads, threads, CPUs; or, without those, one target for
 * a command, whose pid is filled in when it is started. `command`: its words, NULL for none. 0, or
 * the exit status after a message.
 */
int stat_targets_make(struct stat_targets *targets, const struct stat_options *options,
		      char *const *command);
void stat_targets_release(struct stat_targets *targets); /* also right for a zeroed one */
