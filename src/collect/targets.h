/*
 * targets - what a recording watches: everything, some CPUs, a command's tree,
 * running processes and threads, a control group. Opens its counters, and tells when
 * it has ended.
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
	bool watched; /* processes or threads are watched, whose end ends the recording */
	int *pid_fds; /* pidfds of processes */
	size_t pid_count, pid_capacity;
	pid_t *roots; /* the processes of collect_options.pids */
	size_t root_count;
	struct descendants before; /* when sampling started; empty where children are watched too */
	pid_t *tids;		   /* threads that are watched by themselves; 0: ended */
	size_t tid_count;
	int cgroup_fd; /* 0: none */
};

/* Opens the counters and reads from /proc what runs already. 0, or a negative errno with *err. */
int targets_open(struct targets *targets, struct session *session,
		 const struct collect_options *options, const struct plan *plan, struct error *err);
/* To be called when sampling starts: reads the processes below the watched ones, unless `children`
 * of theirs are watched. 0 or -ENOMEM. */
int targets_start(struct targets *targets, const struct proc_ask *ask, bool children);
void targets_release(struct targets *targets); /* also right for a zeroed one */
/* As collector_describe_missing(): whether processes below the watched ones did the work. */
void targets_describe_below(const struct targets *targets, const struct proc_ask *ask,
			    uint64_t samples, char *text, size_t size);
/* False when every watched process and thread has ended, or the watched group was removed. */
bool targets_alive(struct targets *targets);
