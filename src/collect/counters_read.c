#include "collect/counters_private.h"

#include <errno.h>
#include <unistd.h>

uint64_t counters_lost_of(int fd)
{
	uint64_t words[2] = { 0 }; /* value, lost */
	return read(fd, words, sizeof(words)) == sizeof(words) ? words[1] : 0;
}

/* Adds what a counter has advanced to its lane, scaled by enabled / running time where it was
 * multiplexed (perf_event_open(2), PERF_FORMAT_TOTAL_TIME_RUNNING). */
static void advance(struct counters *counters, struct counter *counter, uint64_t value,
		    uint64_t enabled, uint64_t running, uint64_t lost)
{
	struct lane *lane = counters_lane(counters, counter->sampler, counter->slot);
	struct sampler *sampler = &counters->samplers[counter->sampler];
	uint64_t more_enabled = enabled - counter->enabled;
	uint64_t more_running = running - counter->running;
	uint64_t more_value = value - counter->value;
	double events = (double)more_value;
	if (more_running)
		lane->rate_per_second = (double)more_value * 1e9 / (double)more_running;
	if (counters->options.inherit) {
		/* One task's descriptors on all CPUs are enabled together, and run one at a time:
		 * settle_multiplexing() scales what they counted. */
		if (counter->slot == 0)
			sampler->task_enabled_ns += more_enabled;
		sampler->task_running_ns += more_running;
		lane->unscaled += events;
		lane->running_ns += more_running;
		events = 0;
		more_enabled = more_running = 0;
	} else if (sampler->turn_sets) {
		turn_time_add(&lane->turn, more_value, more_enabled, more_running);
		events = 0;
		more_enabled = more_running = 0;
	} else if (more_running && more_running != more_enabled) {
		events *= (double)more_enabled / (double)more_running;
	}
	lane->advanced += events;
	lane->sums.count += events;
	lane->sums.enabled_ns += more_enabled;
	lane->sums.running_ns += more_running;
	lane->sums.lost_ring += lost - counter->lost;
	lane->unadded += more_value;
	/* of events that take turns it is known when a turn ends */
	if (!sampler->turn_sets)
		counter->stood_still = enabled == counter->enabled;
	counter->value = value;
	counter->enabled = enabled;
	counter->running = running;
	counter->lost = lost;
}

/* A ratio up to this is no multiplexing: reading the counters of all CPUs takes a while. */
#define MULTIPLEXED_MARGIN 1.02

static void settle_multiplexing(struct counters *counters)
{
	for (size_t i = 0; i < counters->sampler_count; i++) {
		struct sampler *sampler = &counters->samplers[i];
		double enabled = (double)sampler->task_enabled_ns;
		double running = (double)sampler->task_running_ns;
		sampler->multiplexed = running > 0 && enabled > running * MULTIPLEXED_MARGIN
					       ? enabled / running
					       : 1;
		sampler->task_enabled_ns = sampler->task_running_ns = 0;
		for (size_t slot = 0; slot < counters->cpu_count; slot++) {
			struct lane *lane = counters_lane(counters, i, slot);
			double events = lane->unscaled * sampler->multiplexed;
			lane->advanced += events;
			lane->sums.count += events;
			lane->sums.running_ns += lane->running_ns;
			lane->sums.enabled_ns +=
				(uint64_t)((double)lane->running_ns * sampler->multiplexed);
			lane->unscaled = 0;
			lane->running_ns = 0;
		}
	}
}

static int read_group(struct counters *counters, const uint64_t *words, size_t size)
{
	unsigned stride = counters->reads_lost ? 3 : 2;
	if (size < 3 || size < 3 + words[0] * stride)
		return -EIO;
	for (uint64_t i = 0; i < words[0]; i++) {
		const uint64_t *value = words + 3 + i * stride;
		struct counter *counter = counters_by_id(counters, value[1]);
		if (counter)
			advance(counters, counter, value[0], words[1], words[2],
				counters->reads_lost ? value[2] : 0);
	}
	return 0;
}

int counters_read_one(struct counters *counters, struct counter *counter)
{
	uint64_t words[COUNTER_WORDS_MOST];
	ssize_t got = read(counter->fd, words, sizeof(words));
	return counters_add_reading(counters, counter, words,
				    got > 0 ? (size_t)got / sizeof(*words) : 0);
}

int counters_add_reading(struct counters *counters, struct counter *counter, const uint64_t *words,
			 size_t size)
{
	const struct sampler *sampler = &counters->samplers[counter->sampler];
	if (size == 0) {
		counter->gone = true; /* its CPU or task left before it ever ran */
		return 0;
	}
	if (sampler->group_size > 1)
		return read_group(counters, words, size);
	if (size >= 4)
		advance(counters, counter, words[0], words[1], words[2],
			counters->reads_lost && size >= 5 ? words[4] : 0);
	return 0;
}

int counters_read(struct counters *counters, enum counters_which which)
{
	for (size_t i = 0; i < counters->count; i++) {
		struct counter *counter = &counters->list[i];
		const struct sampler *sampler = &counters->samplers[counter->sampler];
		if (counter->gone || sampler->leader != counter->sampler ||
		    (which == COUNTERS_COUNTED && counters->samplers[sampler->sampled_by].clock))
			continue;
		int ret = counters_read_one(counters, counter);
		if (ret < 0)
			return ret;
	}
	if (counters->options.inherit)
		settle_multiplexing(counters);
	return 0;
}
