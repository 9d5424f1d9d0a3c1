/*
 * command - a program that is started but held before its exec, so that
 * whoever watches it can get ready first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stepper; /* collect/stepper.h */

struct command {
	pid_t pid;		/* 0: none */
	int release_fd;		/* a byte here lets it go */
	int failure_fd;		/* the errno of a failed exec comes here; end of file: it runs */
	struct stepper *keeper; /* its parent when that is not us; or NULL */
	int end_fd;		/* with a keeper: polls readable once it has ended; -1: unknown */
	uint64_t gone_ns;	/* since when that is seen, and the keeper has not told it */
	bool ended;
	int wait_status; /* of waitpid(2), once it ended */
	bool times_known;
	uint64_t ended_ns;	     /* by the monotonic clock, when that was seen */
	uint64_t user_ns, system_ns; /* CPU time, with the children that it waited for */
};

/*
 * Forks. The child waits for command_release() with the signal mask `mask` to
 * restore before its exec; it dies unexecuted when we do. With a keeper it is that one's child.
 * 0 or negative errno.
 */
int command_start(char *const argv[], const void *mask, struct stepper *keeper,
		  struct command *command);
/* Lets it go and waits for the exec: 0, or the negative errno of the exec. */
int command_release(struct command *command);
/* Looks, without waiting, whether it ended; true once it did. */
bool command_reap(struct command *command);
/* Kills it when it was never released; waits for it when it ended; closes the descriptors. */
void command_dispose(struct command *command);
/* The status a shell would report: the exit status, or 128 + the signal. */
int command_exit_status(const struct command *command);
/* 127 when there is no such command, 126 when it cannot be run, as env(1) does. */
int command_exec_failure_status(int code);
