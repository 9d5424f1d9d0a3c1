/*
 * stepper - a process of its own that steps threads (collect/step.h), so that they are let go in
 * order however the recorder ends. It ends when its owner is gone, after the stretch at hand.
 *
 * Where a command is recorded it is the stepper's child: that is what Yama asks of who traces. So
 * it waits for the command and tells its end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/step.h"

struct error;

struct stepper {
	int socket; /* polls readable when there is something to take */
	pid_t pid;
	pid_t child; /* 0: none */
	bool ended;  /* the child; wait_status is waitpid(2)'s */
	bool lost;   /* the stepper itself has ended */
	int wait_status;
	uint64_t user_ns, system_ns; /* CPU time of the child that ended, and of its children */
	bool answered;		     /* `steps` is the answer to the last question */
	struct steps steps;
};

/* Starts the process. Make it early, while this one is small and has no threads. 0 or negative
 * errno with *err. */
int stepper_start(struct stepper *stepper, struct error *err);
/* As fork(2), but that the child is the stepper's, which is started too. `context` is the stepper.
 */
pid_t stepper_fork(void *context);
/* Waits a moment at most; also right for a zeroed one. */
void stepper_stop(struct stepper *stepper);

/* Steps a thread. One question at a time. 0 or negative errno. */
int stepper_ask(struct stepper *stepper, pid_t tid, size_t instructions);
/* Takes what has come, without waiting. */
void stepper_receive(struct stepper *stepper);
