#include "collect/ring_keeper.h"

#include <signal.h>
#include <time.h>

#include "collect/ring.h"

/* A tenth of the time in which 10,000 samples a second, each with a stack of a hundred frames,
 * fill 2 MB. */
#define PAUSE_NS 20000000

static void copy(struct ring_keeper *keeper)
{
	for (size_t i = 0; i < keeper->count && keeper->result == 0; i++)
		keeper->result = ring_copy(&keeper->rings[i], keeper->layout);
}

static void pause_or_change(struct ring_keeper *keeper)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PAUSE_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&keeper->change, &keeper->lock, &until);
}

static void *keep(void *context)
{
	struct ring_keeper *keeper = context;
	pthread_mutex_lock(&keeper->lock);
	while (!keeper->ending) {
		if (!keeper->keeping || keeper->result < 0) {
			pthread_cond_wait(&keeper->change, &keeper->lock);
			continue;
		}
		copy(keeper);
		pause_or_change(keeper);
	}
	pthread_mutex_unlock(&keeper->lock);
	return NULL;
}

static int init_lock(struct ring_keeper *keeper)
{
	pthread_condattr_t monotonic;
	int ret = pthread_mutex_init(&keeper->lock, NULL);
	if (ret == 0)
		ret = pthread_condattr_init(&monotonic);
	if (ret)
		return ret;
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	ret = pthread_cond_init(&keeper->change, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return ret;
}

void ring_keeper_start(struct ring_keeper *keeper, struct ring *rings, size_t count,
		       const struct perf_layout *layout)
{
	sigset_t all, before;
	*keeper = (struct ring_keeper){ .rings = rings, .count = count, .layout = layout };
	/* Signals are for the owner's thread: task_open.c and others use them to interrupt it. */
	sigfillset(&all);
	if (init_lock(keeper) || pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	keeper->running = pthread_create(&keeper->thread, NULL, keep, keeper) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void set_and_wake(struct ring_keeper *keeper, bool *what, bool value)
{
	pthread_mutex_lock(&keeper->lock);
	*what = value;
	pthread_cond_signal(&keeper->change);
	pthread_mutex_unlock(&keeper->lock);
}

void ring_keeper_stop(struct ring_keeper *keeper)
{
	if (!keeper->running)
		return;
	set_and_wake(keeper, &keeper->ending, true);
	pthread_join(keeper->thread, NULL);
	pthread_cond_destroy(&keeper->change);
	pthread_mutex_destroy(&keeper->lock);
	*keeper = (struct ring_keeper){ 0 };
}

void ring_keeper_begin(struct ring_keeper *keeper)
{
	if (keeper->running && !keeper->keeping)
		set_and_wake(keeper, &keeper->keeping, true);
}

bool ring_keeper_owns_rings(const struct ring_keeper *keeper)
{
	return keeper->keeping;
}

int ring_keeper_end(struct ring_keeper *keeper)
{
	if (!keeper->keeping)
		return 0;
	/* Waits while the thread copies. */
	pthread_mutex_lock(&keeper->lock);
	keeper->keeping = false;
	int ret = keeper->result;
	keeper->result = 0;
	pthread_mutex_unlock(&keeper->lock);
	return ret;
}
