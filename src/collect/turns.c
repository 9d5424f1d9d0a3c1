#include "collect/turns.h"

#include <errno.h>

#include "base/array.h"
#include "collect/counters_private.h"

static bool has_turn(const struct turns *turns, const struct sampler *sampler, size_t step)
{
	return turn_thread_has(turns->seed, sampler->turn_set, sampler->turn_sets, step);
}

int turns_start(struct turns *turns, struct counters *counters, uint64_t now_ns)
{
	if (!turns->mean_ns)
		return 0;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		struct sampler *sampler = &counters->samplers[i];
		if (!sampler->turn_sets)
			continue;
		sampler->resting = !has_turn(turns, sampler, 0);
		sampler->turn_began_ns = now_ns;
		sampler->multiplexed = (double)sampler->turn_sets;
		for (size_t slot = 0; slot < counters->cpu_count; slot++)
			counters_lane(counters, i, slot)->turn.since_ns = now_ns;
	}
	return turn_thread_start(&turns->thread, turns->mean_ns, turns->seed);
}

/* Of a control group the kernel counts time only while the group runs. */
static void rest(struct counters *counters, const struct sampler *sampler, size_t index,
		 uint64_t now_ns)
{
	bool by_wall = counters->watched_flags & PERF_FLAG_PID_CGROUP;
	for (size_t slot = 0; slot < counters->cpu_count; slot++)
		turn_time_rest(&counters_lane(counters, index, slot)->turn,
			       by_wall ? now_ns - sampler->turn_began_ns : 0);
}

/* Settles what a round came to. */
static void settle(struct counters *counters, struct sampler *sampler, size_t index,
		   uint64_t now_ns, bool last)
{
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		struct lane *lane = counters_lane(counters, index, slot);
		struct turn_round round;
		if (!(last ? turn_time_finish(&lane->turn, now_ns, &round)
			   : turn_time_close(&lane->turn, now_ns, &round)))
			continue;
		lane->advanced += round.events;
		lane->sums.count += round.events;
		lane->sums.enabled_ns += round.ns;
		lane->sums.running_ns += round.ran_ns;
		lane->round_over = true;
		sampler->turns_ns += (double)round.ns;
		sampler->turns_ran_ns += (double)round.ran_ns;
	}
	/* what a reading within a group stands for */
	if (sampler->turns_ran_ns > 0)
		sampler->multiplexed = sampler->turns_ns / sampler->turns_ran_ns;
}

/* Adds what the leaders counted whose turn has ended. 0 or -EIO. */
static int add_readings(struct counters *counters, const uint64_t **queue, size_t readings)
{
	int ret = 0;
	for (size_t i = 0; i < readings && ret == 0; i++) {
		const struct turn_reading *reading = (const void *)*queue;
		const uint64_t *words = *queue + sizeof(*reading) / sizeof(**queue);
		struct counter *counter = &counters->list[reading->number];
		*queue = words + reading->words;
		ret = counters_add_reading(counters, counter, words, reading->words);
		counter->stood_still = !turn_time_advanced(
			&counters_lane(counters, counter->sampler, counter->slot)->turn);
	}
	return ret;
}

static void end_turn(struct turns *turns, struct counters *counters, uint64_t now_ns)
{
	turns->step++;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		struct sampler *sampler = &counters->samplers[i];
		if (!sampler->turn_sets)
			continue;
		if (!sampler->resting)
			rest(counters, sampler, i, now_ns);
		if (turns->step % sampler->turn_sets == 0)
			settle(counters, sampler, i, now_ns, false);
		sampler->resting = !has_turn(turns, sampler, turns->step);
		sampler->turn_began_ns = now_ns;
	}
}

static int process(struct turns *turns, struct counters *counters)
{
	struct turn_thread *thread = &turns->thread;
	const uint64_t *queue = thread->queue;
	size_t ends = thread->ends;
	int ret = 0;
	for (size_t i = 0; i < ends && ret == 0; i++) {
		const struct turn_end *end = (const void *)queue;
		queue += sizeof(*end) / sizeof(*queue);
		ret = add_readings(counters, &queue, end->readings);
		end_turn(turns, counters, end->at_ns);
	}
	thread->used = thread->ends = 0;
	return ret < 0 ? ret : (int)ends;
}

int turns_hold(struct turns *turns, struct counters *counters)
{
	if (!turns->mean_ns)
		return 0;
	turn_thread_hold(&turns->thread);
	return process(turns, counters);
}

/* Without room for all leaders the rest have the turn that they have for good: counted is how long
 * that is. */
static void list_leaders(struct turn_thread *thread, const struct counters *counters)
{
	thread->leader_count = 0;
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *counter = &counters->list[i];
		const struct sampler *sampler = &counters->samplers[counter->sampler];
		if (counter->gone || !sampler->turn_sets || sampler->leader != counter->sampler)
			continue;
		if (array_reserve(&thread->leaders, &thread->leader_capacity, thread->leader_count,
				  sizeof(*thread->leaders)) < 0)
			return;
		thread->leaders[thread->leader_count++] =
			(struct turn_leader){ counter->fd, (uint32_t)i, sampler->turn_set,
					      sampler->turn_sets };
	}
}

void turns_release(struct turns *turns, const struct counters *counters)
{
	if (!turns->mean_ns)
		return;
	if (turns->thread.running)
		list_leaders(&turns->thread, counters);
	turn_thread_release(&turns->thread);
}

int turns_stop(struct turns *turns, struct counters *counters)
{
	if (!turns->mean_ns)
		return 0;
	turn_thread_stop(&turns->thread);
	int ret = process(turns, counters);
	return ret < 0 ? ret : 0;
}

void turns_free(struct turns *turns)
{
	turn_thread_free(&turns->thread);
	*turns = (struct turns){ 0 };
}

void turns_finish(const struct turns *turns, struct counters *counters, uint64_t now_ns)
{
	for (size_t i = 0; i < counters->sampler_count; i++) {
		struct sampler *sampler = &counters->samplers[i];
		if (!turns->mean_ns || !sampler->turn_sets)
			continue;
		if (!sampler->resting)
			rest(counters, sampler, i, now_ns);
		settle(counters, sampler, i, now_ns, true);
	}
}
