#include "daemon/closing.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
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

static void write_epoch(struct closing *closing)
{
	const struct profile_waiter waiter = { is_hurried, closing };
	/* When the merge cannot be written into the open file, the epoch holds it in memory all the
	 * same: closing it writes that, or returns why not. */
	if (closing->delta)
		epoch_merge(closing->epoch, closing->delta, &closing->err);
	profile_free(closing->delta);
	closing->delta = NULL;
	closing->result = epoch_close_for(&waiter, closing->epoch, &closing->err);
	closing->epoch = NULL; /* closing frees it, however it ends */
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
	atomic_store(&closing->over, false);
	closing->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (closing->done_fd >= 0) {
		closing->running = pthread_create(&closing->thread, NULL, run, closing) == 0;
		if (closing->running)
			return 0;
		close(closing->done_fd);
	}
	write_epoch(closing);
	if (closing->result < 0)
		*err = closing->err;
	return closing->result;
}

bool closing_is_running(const struct closing *closing)
{
	return closing->running;
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
