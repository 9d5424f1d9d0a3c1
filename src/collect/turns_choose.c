/* Which groups fit the PMU together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "collect/counters.h"
#include "collect/turns.h"
#include "machine/event.h"
#include "machine/event_cpus.h"
#include "machine/perf_open.h"

#define TRIAL_NS     200000
#define TRIAL_EVENTS 64
#define NOWHERE	     SIZE_MAX

/* Groups that are open on this thread for a moment. */
struct trial {
	int fds[TRIAL_EVENTS];
	size_t leaders[TRIAL_EVENTS]; /* positions in fds */
	size_t count, leader_count;
};

static void end_trial(struct trial *trial)
{
	while (trial->count > 0)
		close(trial->fds[--trial->count]);
	trial->leader_count = 0;
}

/* Opens the group of that leader and leaves it enabled. 0 or a negative errno value. */
static int open_group(struct trial *trial, const struct sampler *samplers, size_t count,
		      size_t leader)
{
	int leader_fd = -1;
	for (size_t i = leader; i < count; i++) {
		if (samplers[i].leader != leader)
			continue;
		struct perf_event_attr attr = samplers[i].attr;
		attr.disabled = attr.enable_on_exec = attr.inherit = attr.freq = 0;
		attr.sample_period = attr.sample_type = 0;
		attr.precise_ip = 0; /* a counter of any kind */
		attr.pinned &= leader_fd < 0;
		attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		if (trial->count == COUNT_OF(trial->fds))
			return -E2BIG;
		int fd = perf_open(&attr, 0, -1, leader_fd, 0);
		if (fd < 0)
			return fd;
		if (i == leader) {
			trial->leaders[trial->leader_count++] = trial->count;
			leader_fd = fd;
		}
		trial->fds[trial->count++] = fd;
	}
	return 0;
}

static bool all_counted(const struct trial *trial)
{
	uint64_t end_ns = clock_monotonic_ns() + TRIAL_NS;
	while (clock_monotonic_ns() < end_ns)
		;
	for (size_t i = 0; i < trial->leader_count; i++) {
		uint64_t now[3] = { 0 };
		if (read(trial->fds[trial->leaders[i]], now, sizeof(now)) != sizeof(now) ||
		    now[2] == 0 || now[2] != now[1])
			return false;
	}
	return true;
}

static bool takes_a_counter(const struct sampler *sampler)
{
	uint32_t type = sampler->attr.type;
	return !sampler->clock && type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT &&
	       type != PERF_TYPE_BREAKPOINT;
}

static bool same_pmu(const struct event *a, const struct event *b)
{
	return strcmp(a->pmu ? a->pmu : "", b->pmu ? b->pmu : "") == 0;
}

/* Always on the PMU, and in no set. */
static bool is_pinned(const struct sampler *sampler, size_t index)
{
	return sampler->leader == index && sampler->attr.pinned && takes_a_counter(sampler);
}

struct placing {
	const struct sampler *samplers;
	size_t count;
	size_t *sets; /* by leader: its set; NOWHERE: it has none */
};

static bool shares_pmu(const struct placing *placing, size_t a, size_t b)
{
	return placing->sets[a] != NOWHERE &&
	       same_pmu(placing->samplers[a].event, placing->samplers[b].event);
}

/* How many sets there are of the sampler's PMU. */
static size_t sets_beside(const struct placing *placing, size_t sampler)
{
	size_t sets = 0;
	for (size_t i = 0; i < placing->count; i++)
		if (shares_pmu(placing, i, sampler) && placing->sets[i] >= sets)
			sets = placing->sets[i] + 1;
	return sets;
}

/* Whether the group fits beside those of its PMU that are in that set. 0; -EBUSY: it does not; or
 * another negative errno value. */
static int try_set(const struct placing *placing, size_t leader, size_t set)
{
	struct trial trial = { .count = 0 };
	const struct event *event = placing->samplers[leader].event;
	cpu_set_t before;
	if (!event_cpus_go(event, &before))
		return -EPERM;
	int ret = 0;
	for (size_t i = 0; i < placing->count && ret == 0; i++)
		if (is_pinned(&placing->samplers[i], i) &&
		    same_pmu(placing->samplers[i].event, event))
			ret = open_group(&trial, placing->samplers, placing->count, i);
	for (size_t i = 0; i < leader && ret == 0; i++)
		if (placing->sets[i] == set && shares_pmu(placing, i, leader))
			ret = open_group(&trial, placing->samplers, placing->count, i);
	if (ret == 0)
		ret = open_group(&trial, placing->samplers, placing->count, leader);
	if (ret == 0 && !all_counted(&trial))
		ret = -EBUSY;
	end_trial(&trial);
	event_cpus_come_back(event, &before);
	return ret;
}

/* Puts a group into the first set where it fits, else into a new one. 0 or a negative errno value.
 */
static int place(struct placing *placing, size_t leader)
{
	size_t sets = sets_beside(placing, leader);
	for (size_t set = 0; set < sets; set++) {
		int ret = try_set(placing, leader, set);
		if (ret == 0)
			placing->sets[leader] = set;
		if (ret != -EBUSY)
			return ret;
	}
	placing->sets[leader] = sets;
	return 0;
}

bool turns_choose(struct sampler *samplers, size_t count)
{
	struct placing placing = { samplers, count, malloc((count + 1) * sizeof(size_t)) };
	bool any = false;
	int ret = placing.sets ? 0 : -ENOMEM;
	for (size_t i = 0; i < count && ret == 0; i++)
		placing.sets[i] = NOWHERE;
	for (size_t i = 0; i < count && ret == 0; i++)
		if (samplers[i].leader == i && takes_a_counter(&samplers[i]) &&
		    !samplers[i].attr.pinned)
			ret = place(&placing, i);
	for (size_t i = 0; i < count; i++) {
		size_t leader = samplers[i].leader;
		bool placed = ret == 0 && placing.sets[leader] != NOWHERE;
		size_t sets = placed ? sets_beside(&placing, leader) : 0;
		samplers[i].turn_sets = sets > 1 ? sets : 0;
		samplers[i].turn_set = sets > 1 ? placing.sets[leader] : 0;
		any |= sets > 1;
	}
	free(placing.sets);
	return any;
}
