#include "collect/turn_thread.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/counters_private.h"

#define SHORTEST_NS	2000000u
#define SETS_MOST	4096
#define SHARE_OF_BEGINS 10 /* at first a turn lasts this part of the time that has passed */
/* With so much waiting, 2 MB, a turn lasts until the owner takes it. */
#define WAITING_MOST ((size_t)1 << 18)

/* The order of a round is that of random numbers, one for each set. */
static uint64_t drawn(uint64_t seed, size_t round, size_t set)
{
	return hash_u64_stable(seed + hash_u64_stable(round * SETS_MOST + set));
}

bool turn_thread_has(uint64_t seed, size_t set, size_t sets, size_t step)
{
	size_t before = 0;
	uint64_t own = drawn(seed, step / sets, set);
	for (size_t other = 0; other < sets; other++)
		before += drawn(seed, step / sets, other) < own;
	return before == step % sets;
}

static bool has(const struct turn_thread *thread, const struct turn_leader *leader, size_t step)
{
	return turn_thread_has(thread->seed, leader->set, leader->sets, step);
}

/* Half of the mean to one and a half of it, which is shorter at first, so that a short recording
 * has some turns of each set. */
static void plan_end(struct turn_thread *thread, uint64_t now_ns)
{
	uint64_t mean_ns = (now_ns - thread->began_ns) / SHARE_OF_BEGINS;
	mean_ns = mean_ns < SHORTEST_NS ? SHORTEST_NS : mean_ns;
	mean_ns = mean_ns < thread->mean_ns ? mean_ns : thread->mean_ns;
	thread->next_ns = now_ns + mean_ns / 2 + random_below(&thread->random, mean_ns + 1);
}

/* Puts what the leader has counted behind the rest of the queue, which has room for it. */
static void read_leader(struct turn_thread *thread, const struct turn_leader *leader)
{
	uint64_t *place = thread->queue + thread->used;
	size_t head = sizeof(struct turn_reading) / sizeof(*place);
	ssize_t got = read(leader->fd, place + head, COUNTER_WORDS_MOST * sizeof(*place));
	size_t words = got > 0 ? (size_t)got / sizeof(*place) : 0;
	*(struct turn_reading *)(void *)place = (struct turn_reading){ leader->number, words };
	thread->used += head + words;
}

/* False: there is no room for what would be read, and the turn lasts on. */
static bool make_room(struct turn_thread *thread)
{
	size_t most = sizeof(struct turn_end) +
		      thread->leader_count *
			      (sizeof(struct turn_reading) + COUNTER_WORDS_MOST * sizeof(uint64_t));
	most /= sizeof(uint64_t);
	if (thread->used && thread->used + most > WAITING_MOST)
		return false;
	while (thread->queue_capacity < thread->used + most)
		if (array_reserve(&thread->queue, &thread->queue_capacity, thread->queue_capacity,
				  sizeof(*thread->queue)) < 0)
			return false;
	return true;
}

static void switch_sets(struct turn_thread *thread)
{
	if (!make_room(thread))
		return;
	struct turn_end *end = (struct turn_end *)(void *)(thread->queue + thread->used);
	*end = (struct turn_end){ .readings = 0 };
	thread->used += sizeof(*end) / sizeof(*thread->queue);
	for (size_t i = 0; i < thread->leader_count; i++) {
		const struct turn_leader *leader = &thread->leaders[i];
		if (!has(thread, leader, thread->step))
			continue;
		if (!has(thread, leader, thread->step + 1))
			ioctl(leader->fd, PERF_EVENT_IOC_DISABLE, 0);
		read_leader(thread, leader);
		end->readings++;
	}
	end->at_ns = clock_monotonic_ns();
	for (size_t i = 0; i < thread->leader_count; i++) {
		const struct turn_leader *leader = &thread->leaders[i];
		if (has(thread, leader, thread->step + 1) && !has(thread, leader, thread->step))
			ioctl(leader->fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	thread->step++;
	thread->ends++;
}

static void *run(void *context)
{
	struct turn_thread *thread = context;
	pthread_mutex_lock(&thread->lock);
	while (!thread->ending) {
		uint64_t now_ns = clock_monotonic_ns();
		if (now_ns >= thread->next_ns) {
			switch_sets(thread);
			plan_end(thread, now_ns);
		}
		const struct timespec until = { (time_t)(thread->next_ns / 1000000000u),
						(long)(thread->next_ns % 1000000000u) };
		pthread_cond_timedwait(&thread->change, &thread->lock, &until);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

static int init_lock(struct turn_thread *thread)
{
	pthread_condattr_t monotonic;
	int ret = pthread_mutex_init(&thread->lock, NULL);
	if (ret == 0)
		ret = pthread_condattr_init(&monotonic);
	if (ret)
		return -ret;
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	ret = pthread_cond_init(&thread->change, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return -ret;
}

int turn_thread_start(struct turn_thread *thread, uint64_t mean_ns, uint64_t seed)
{
	sigset_t all, before;
	*thread = (struct turn_thread){
		.mean_ns = mean_ns,
		.seed = seed,
		.random = random_seed(seed),
		.began_ns = clock_monotonic_ns(),
	};
	int ret = init_lock(thread);
	if (ret < 0)
		return ret;
	plan_end(thread, thread->began_ns);
	pthread_mutex_lock(&thread->lock); /* until the first release */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(&thread->thread, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	thread->running = ret == 0;
	return ret;
}

void turn_thread_stop(struct turn_thread *thread)
{
	if (!thread->running)
		return;
	pthread_mutex_lock(&thread->lock);
	thread->ending = true;
	pthread_cond_signal(&thread->change);
	pthread_mutex_unlock(&thread->lock);
	pthread_join(thread->thread, NULL);
	pthread_cond_destroy(&thread->change);
	pthread_mutex_destroy(&thread->lock);
	thread->running = false;
}

void turn_thread_free(struct turn_thread *thread)
{
	turn_thread_stop(thread);
	free(thread->leaders);
	free(thread->queue);
	*thread = (struct turn_thread){ 0 };
}

void turn_thread_hold(struct turn_thread *thread)
{
	if (thread->running)
		pthread_mutex_lock(&thread->lock);
}

void turn_thread_release(struct turn_thread *thread)
{
	if (thread->running)
		pthread_mutex_unlock(&thread->lock);
}
