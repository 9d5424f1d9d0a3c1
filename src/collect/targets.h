/*
 * targets - whom a recording watches: everything, some CPUs, a command's tree,
 * running processes and threads, a control group.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct collect_options;
struct error;
struct plan;
struct session;

struct targets {
	bool watched; /* something whose end ends the recording */
	int *pid_fds; /* of processes; -1: ended */
	size_t pid_count;
	pid_t *tids; /* 0: ended */
	size_t tid_count;
	int cgroup_fd; /* 0: none */
};

/* Opens the counters and learns what already runs. 0 or a negative errno with the sentence. */
int targets_open(struct targets *targets, struct session *session,
		 const struct collect_options *options, const struct plan *plan, struct error *err);
void targets_release(struct targets *targets); /* also right for a zeroed one */
/* False when every asked process and thread has ended. */
bool targets_alive(struct targets *targets);
