/*
 * closing - writes an epoch that has ended, on a thread of its own: to add the last of a large
 * profile, bring it into order, compress and sync it takes seconds, in which samples would wait.
 *
 * One epoch at a time. All functions are called by the thread that owns the recorder; the thread
 * that writes touches nothing but the epoch and its last delta, which are its own from
 * closing_start() on, and `hurry`.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

struct epoch;
struct profile;

struct closing {
	/* private */
	pthread_t thread;
	bool running; /* and not yet taken */
	int done_fd;  /* an eventfd: readable when it is over */
	struct epoch *epoch;
	struct profile *delta;
	atomic_bool hurry, over;
	int result;
	struct error err;
};

/* Takes over the epoch and what is still to be merged into it (NULL: nothing), whatever it returns;
 * none may be running. A machine without room for a thread has it written at once. 0 or a negative
 * errno value with *err as closing_take() has. */
int closing_start(struct closing *closing, struct epoch *epoch, struct profile *delta,
		  struct error *err);
bool closing_is_running(const struct closing *closing);
/* Polls readable once the running one is over; -1 while none runs. */
int closing_poll_fd(const struct closing *closing);
/* One that was running is over: closing_take() does not wait. */
bool closing_is_over(const struct closing *closing);
/* The epoch stays open on disk as soon as that can be, cut off, with its samples but not all
 * names: it was asked a second time to end. */
void closing_hurry(struct closing *closing);
/* Waits for the running one, if there is one. 0, or what epoch_close_for() returned, with *err. */
int closing_take(struct closing *closing, struct error *err);
/* What is said of one that was asked a second time to end: -ECANCELED. */
void closing_say_left_open(struct error *err);
