/*
 * closing - writes an epoch that has ended, on a thread of its own: merging, sorting, compressing
 * and syncing a large profile takes seconds, in which samples would wait.
 *
 * On a full disk it tries again until there is room: the epoch has all in memory, and what was
 * merged is in its open file. The next one lasts as long.
 *
 * One epoch at a time. All functions are called by the thread that owns the recorder; the thread
 * that writes touches nothing but the epoch and its last delta, which are its own from
 * closing_start() on, and the flags.
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
	bool running; /* from closing_start() to closing_join() */
	int done_fd;  /* an eventfd: readable when it is over */
	struct epoch *epoch;
	struct profile *delta;
	atomic_bool hurry, last_try, over, stored;
	atomic_bool waiting; /* for room on the disk; `trouble` says why, and stays */
	bool told;	     /* closing_trouble() has told of it */
	int result;
	struct error err, trouble;
};

/* Takes over the epoch, and the delta that is still to be merged into it (NULL: none), whatever it
 * returns; none may be running. Where no thread can be started it writes the epoch itself. 0, or as
 * closing_join(). */
int closing_start(struct closing *closing, struct epoch *epoch, struct profile *delta,
		  struct error *err);
bool closing_is_running(const struct closing *closing);
/* Whether the delta of the last one that was started is in its file, so that nothing of it is lost
 * when this process is killed. */
bool closing_has_stored(const struct closing *closing);
/* Polls readable once the running one is over; -1 while none runs. */
int closing_poll_fd(const struct closing *closing);
/* Whether an epoch is written, or has failed, so that closing_join() does not wait. */
bool closing_is_over(const struct closing *closing);
/* Ends the writing as soon as possible, since the user has asked a second time: the epoch stays an
 * open file, cut off, with its samples but not all names. */
void closing_hurry(struct closing *closing);
/* Whether it has begun to wait for room on the disk since the last call, with *err. */
bool closing_trouble(struct closing *closing, struct error *err);
/* From now on it does not wait for room any more, but tries once. */
void closing_give_up(struct closing *closing);
/* Waits for the epoch that is being written, if there is one. 0, or what epoch_close_for() returned
 * (-ECANCELED after closing_hurry()), with *err. */
int closing_join(struct closing *closing, struct error *err);
/* Fills *err with -ECANCELED and the sentence for an epoch that was left open in this way. */
void closing_set_left_open(struct error *err);
