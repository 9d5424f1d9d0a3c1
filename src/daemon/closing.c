#include "daemon/closing.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "profile/profile.h"
#include "store/epoch.h"
#include "store/profile_writer.h"

static bool is_hurried(void *context)
{
	struct closing *closing = context;
	return atomic_load(&closing->hurry);
}

void closing_set_left_open(struct error *err)
{
	error_set(err, -ECANCELED,
		  "asked a second time to end: the open file is left, cut off, and has the samples "
		  "but not all names");
}

/* How long it waits before it tries again, and in which steps, to see whether it may go on. */
#define RETRY_STEPS   10
#define RETRY_STEP_NS 100000000

static bool may_pass(int code)
{
	return code == -ENOSPC || code == -EDQUOT || code == -EFBIG || code == -EROFS;
}

/* A disk that is full now, or read-only, may not be later. False: there is no point in waiting. */
static bool wait_for_room(struct closing *closing)
{
	if (atomic_load(&closing->hurry) || atomic_load(&closing->last_try))
		return false;
	if (!atomic_load(&closing->waiting)) {
		closing->trouble = closing->err;
		atomic_store(&closing->waiting, true);
	}
	for (int i = 0;
	     i < RETRY_STEPS && !atomic_load(&closing->hurry) && !atomic_load(&closing->last_try);
	     i++)
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_STEP_NS }, NULL);
	return true;
}

static void write_epoch(struct closing *closing)
{
	const struct profile_waiter waiter = { is_hurried, closing };
	/* When the merge cannot be written into the open file, the epoch holds it in memory all the
	 * same: closing it writes that, or returns why not. */
	if (!closing->delta || epoch_merge_last(closing->epoch, closing->delta, &closing->err) == 0)
		atomic_store(&closing->stored, true);
	profile_free(closing->delta);
	closing->delta = NULL;
	do
		closing->result = epoch_try_close(&waiter, &closing->epoch, &closing->err);
	while (closing->epoch && may_pass(closing->result) && wait_for_room(closing));
	if (closing->epoch)
		epoch_abandon(closing->epoch);
	closing->epoch = NULL;
	if (closing->result == 0)
		atomic_store(&closing->stored, true);
	if (closing->result == -ECANCELED)
		closing_set_left_open(&closing->err);
}

static void *run(void *context)
{
	struct closing *closing = context;
	write_epoch(closing);
	atomic_store(&closing->over, true);
	/* Fails only when the counter overflows: this is its only addition. */
	eventfd_write(closing->done_fd, 1);
	return NULL;
}

int closing_start(struct closing *closing, struct epoch *epoch, struct profile *delta,
		  struct error *err)
{
	closing->epoch = epoch;
	closing->delta = delta;
	atomic_store(&closing->hurry, false);
	atomic_store(&closing->last_try, false);
	atomic_store(&closing->waiting, false);
	atomic_store(&closing->over, false);
	atomic_store(&closing->stored, false);
	closing->told = false;
	closing->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (closing->done_fd >= 0) {
		closing->running = pthread_create(&closing->thread, NULL, run, closing) == 0;
		if (closing->running)
			return 0;
		close(closing->done_fd);
	}
	atomic_store(&closing->last_try, true); /* samples would wait */
	write_epoch(closing);
	if (closing->result < 0)
		*err = closing->err;
	return closing->result;
}

bool closing_is_running(const struct closing *closing)
{
	return closing->running;
}

bool closing_has_stored(const struct closing *closing)
{
	return atomic_load(&closing->stored);
}

int closing_poll_fd(const struct closing *closing)
{
	return closing->running ? closing->done_fd : -1;
}

bool closing_is_over(const struct closing *closing)
{
	return closing->running && atomic_load(&closing->over);
}

void closing_hurry(struct closing *closing)
{
	if (closing->running)
		atomic_store(&closing->hurry, true);
}

bool closing_trouble(struct closing *closing, struct error *err)
{
	if (!closing->running || closing->told || !atomic_load(&closing->waiting))
		return false;
	closing->told = true;
	*err = closing->trouble;
	return true;
}

void closing_give_up(struct closing *closing)
{
	if (closing->running)
		atomic_store(&closing->last_try, true);
}

int closing_join(struct closing *closing, struct error *err)
{
	if (!closing->running)
		return 0;
	pthread_join(closing->thread, NULL);
	close(closing->done_fd);
	closing->running = false;
	if (closing->result < 0)
		*err = closing->err;
	return closing->result;
}
