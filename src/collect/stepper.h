/*
 * stepper - a process of its own that steps threads (collect/step.h), so that these are let go in
 * order however the recorder ends. It ends when its owner is gone, after the stretch under way.
 *
 * A recorded command is the stepper's child, since Yama lets a process trace its descendants only
 * (kernel.yama.ptrace_scope). So the stepper waits for the command and reports its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/step.h"

struct error;

struct stepper {
	int socket;  /* polls readable when stepper_receive() has something to read */
	pid_t pid;   /* of the stepper; 0: none */
	pid_t child; /* 0: none */
	bool ended;  /* the child has, with wait_status as of waitpid(2) */
	bool lost;   /* the stepper itself has ended */
	int wait_status;
	uint64_t user_ns, system_ns; /* CPU time of the child that ended, and of its children */
	bool answered;		     /* `steps` answers the last stepper_ask() */
	struct steps steps;
};

/* Starts the process: early, while this one is small and has no threads. 0, or a negative errno
 * with *err. */
int stepper_start(struct stepper *stepper, struct error *err);
/* Starts the process, and a child of it: returns as fork(2) does, with the stepper as parent.
 * `context` is the struct stepper. */
pid_t stepper_fork(void *context);
/* Ends the process, and waits 30 ms for that at most; also right for a zeroed one. */
void stepper_stop(struct stepper *stepper);

/* Asks for a stretch of a thread, one at a time; stepper_receive() reads the answer. 0 or negative
 * errno. */
int stepper_ask(struct stepper *stepper, pid_t tid, size_t instructions);
/* Reads what has come, without waiting, into *stepper. */
void stepper_receive(struct stepper *stepper);
