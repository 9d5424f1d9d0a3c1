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
	int release_fd;		/* written to let it exec; -1: it was released */
	int failure_fd;		/* receives the errno of a failed exec; end of file: it runs */
	struct stepper *keeper; /* its parent when that is not us; or NULL */
	int end_fd;		/* with a keeper: pidfd, readable once it has ended; -1: none */
	uint64_t gone_ns;	/* when end_fd was first seen readable; 0: not yet */
	bool ended;
	int wait_status; /* as of waitpid(2), once it ended; exit status 125 when the keeper was
			    lost and cannot report it */
	bool times_known;
	uint64_t ended_ns;	     /* by the monotonic clock, when that was seen */
	uint64_t user_ns, system_ns; /* CPU time, with the children that it waited for */
	/* Times that these gave the CPU up to wait, and that it was taken from them; with a keeper
	   not known. */
	bool switches_known;
	uint64_t voluntary_switches, involuntary_switches;
};

/*
 * Forks. The child waits for command_release(), then restores the signal mask `mask` (a sigset_t)
 * and execs; it exits unexecuted when this process ends. With a keeper, a stepper that is started
 * here too, it is the keeper's child. 0 or negative errno.
 */
int command_start(char *const argv[], const void *mask, struct stepper *keeper,
		  struct command *command);
/* Lets the child exec, and waits until it has. 0, or the negative errno of the exec, or of letting
 * it go. */
int command_release(struct command *command);
/* Whether the command has ended, without waiting; then its wait status and times are filled. */
bool command_reap(struct command *command);
/* Closes the descriptors. A child that was never released exits then, and is waited for when it is
 * ours; a command that runs goes on. */
void command_dispose(struct command *command);
/* The status a shell would report: the exit status, or 128 + the signal. */
int command_exit_status(const struct command *command);
/* For the negative errno of an exec: 127 when there is no such command, 126 when it cannot be run,
 * as env(1) does. */
int command_exec_failure_status(int code);
