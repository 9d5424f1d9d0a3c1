/*
 * targets - whom a recording watches: everything, some CPUs, a command's tree,
 * running processes and threads, a control group.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collect/descendants.h"

struct collect_options;
struct error;
struct plan;
struct session;

struct targets {
	bool watched; /* something whose end ends the recording */
	int *pid_fds; /* of processes; -1: ended */
	size_t pid_count, pid_capacity;
	pid_t *roots; /* the processes that were asked for */
	size_t root_count;
	struct descendants before; /* when the recording began; empty with those below them */
	pid_t *tids;		   /* 0: ended */
	size_t tid_count;
	int cgroup_fd; /* 0: none */
};

/* Opens the counters and learns what already runs. 0 or a negative errno with the sentence. */
int targets_open(struct targets *targets, struct session *session,
		 const struct collect_options *options, const struct plan *plan, struct error *err);
/* When sampling starts. 0 or -ENOMEM. */
int targets_start(struct targets *targets, const struct proc_ask *ask, bool children);
void targets_release(struct targets *targets); /* also right for a zeroed one */
/* As collector_describe_missing(): whether others, below what is watched, did the work. */
void targets_describe_below(const struct targets *targets, const struct proc_ask *ask,
			    uint64_t samples, char *text, size_t size);
/* False when every asked process and thread has ended, or the asked group was removed. */
bool targets_alive(struct targets *targets);
