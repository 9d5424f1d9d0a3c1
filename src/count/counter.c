/* Measuring with counters that are open: nothing here allocates. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "count/count_set.h"
#include "count/counter_private.h"
#include "machine/core_time.h"

/* Wall time between the moments that is longer than the time between them that the thread ran: it
 * was switched out. Below this it may be what the clocks differ by: some ns to read them, and some
 * millionths by their rates (the kernel's perf clock and its CLOCK_MONOTONIC_RAW count ticks of one
 * counter, and each has measured its length; CLOCK_MONOTONIC is corrected by up to 500 more). */
#define SWITCHED_OUT_NS	   1000
#define SWITCHED_OUT_SHARE 10000 /* one in so many */

/* The moments of one target that is not this thread. */
static int read_target(struct culprit_counters *counters, size_t target,
		       struct count_moment *moments)
{
	int status = count_set_read(counters->set, target, counters->readings);
	for (size_t i = 0; i < counters->events.count; i++) {
		const struct count_reading *reading = &counters->readings[i];
		moments[i] = (struct count_moment){
			.count = reading->count,
			.enabled_ns = reading->enabled_ns,
			.running_ns = reading->running_ns,
			.known = status == 0 && reading->state == COUNT_OPEN,
		};
	}
	return status;
}

/* User code reads the counters of the CPU it runs on: those of another thread. */
static int refuse(const struct culprit_counters *counters, struct count_moment *moments)
{
	for (size_t i = 0; i < counters->events.count; i++)
		moments[i] = (struct count_moment){ .known = false };
	return -EPERM;
}

static __attribute__((noinline)) int read_targets(struct culprit_counters *counters,
						  struct count_moment *moments)
{
	int result = 0;
	for (size_t t = 0; t < counters->targets; t++) {
		int status = read_target(counters, t, moments + t * counters->events.count);
		if (status)
			result = status;
	}
	return result;
}

static inline int take(struct culprit_counters *counters, struct count_moment *moments)
{
	if (!counters->own_thread)
		return read_targets(counters, moments);
	return pthread_equal(counters->thread, pthread_self())
		       ? count_set_moments(counters->set, moments)
		       : refuse(counters, moments);
}

int counters_take_begin(struct culprit_counters *counters, struct count_moment *moments)
{
	int status = take(counters, moments);
	/* of what was read in user space the page's sequence tells whether it was interrupted */
	bool by_clock = counters->own_thread && !moments[0].sequence;
	counters->begin_ns = by_clock ? clock_raw_ns() : 0;
	return status;
}

static __attribute__((noinline)) int take_end_by_clock(struct culprit_counters *counters,
						       struct count_moment *moments)
{
	counters->end_ns = clock_raw_ns();
	return take(counters, moments);
}

int counters_take_end(struct culprit_counters *counters, struct count_moment *moments)
{
	if (counters->begin_ns)
		return take_end_by_clock(counters, moments);
	counters->end_ns = 0;
	return take(counters, moments);
}

size_t counters_asked(const struct culprit_counters *counters, const struct count_moment *moments)
{
	size_t asked = 0;
	bool direct = count_set_is_direct(counters->set);
	for (size_t i = 0; i < counters->events.count; i++)
		asked += moments[i].sequence == 0 ||
			 (direct && moments[i].enabled_ns != moments[i].running_ns);
	return asked;
}

int culprit_counters_start(struct culprit_counters *counters)
{
	counters->started = true;
	counters->stopped = false;
	count_set_begin_slices(counters->set);
	return counters_take_begin(counters, counters->begin);
}

int culprit_counters_stop(struct culprit_counters *counters)
{
	if (!counters->started)
		return -EINVAL;
	counters->stopped = true;
	return counters_take_end(counters, counters->end);
}

/* The moments of one target. */
struct measurement {
	const struct count_moment *begin, *end;
};

static uint64_t ran_ns(const void *context, size_t event)
{
	const struct measurement *measurement = context;
	return measurement->end[event].running_ns - measurement->begin[event].running_ns;
}

void counters_difference(const struct culprit_counters *counters, const struct count_moment *begin,
			 const struct count_moment *ends, size_t index,
			 const struct count_cost *cost, struct culprit_value *value)
{
	struct count_moment end = ends[index];
	/* what the kernel opened all the same says nothing (counters_settle_opened()) */
	end.known &= counters->counted[index].counted != NULL;
	uint64_t elsewhere =
		core_time_elsewhere_ns(counters->events.events, counters->events.count, index,
				       ran_ns, &(struct measurement){ begin, ends });
	uint64_t idle = end.enabled_ns - begin[index].enabled_ns -
			(end.running_ns - begin[index].running_ns);
	/* time on other cores is no time that was to be counted here */
	end.enabled_ns -= elsewhere < idle ? elsewhere : idle;
	count_difference(&begin[index], &end, cost, counters->events.events[index].scale, value);
	if (elsewhere)
		value->flags |= CULPRIT_MIGRATED;
}

static void difference_on_target(const struct culprit_counters *counters, size_t target,
				 size_t index, struct culprit_value *value)
{
	counters_difference(counters, counters->begin + target * counters->events.count,
			    counters->end + target * counters->events.count, index,
			    counters->calibrated ? &counters->costs[index] : NULL, value);
}

static void add_value(struct culprit_value *sum, const struct culprit_value *part)
{
	if (part->flags & CULPRIT_ABSENT && part->enabled_ns == 0)
		return; /* it did not run meanwhile */
	if (sum->flags & CULPRIT_ABSENT && sum->enabled_ns == 0) {
		*sum = *part;
		return;
	}
	sum->value += part->value;
	sum->low += part->low;
	sum->high += part->high;
	sum->count += part->count;
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	sum->flags |= part->flags;
}

/* The interval of a value that was scaled, where slices tell it: on one target. */
static void set_interval(const struct culprit_counters *counters, size_t index,
			 struct culprit_value *value)
{
	double half, scale = counters->events.events[index].scale;
	if (!(value->flags & CULPRIT_NO_INTERVAL) || counters->targets != 1 ||
	    !count_set_half_width(counters->set, index, (double)value->count,
				  (double)value->enabled_ns, (double)value->running_ns, &half))
		return;
	value->flags &= ~(uint32_t)CULPRIT_NO_INTERVAL;
	value->low = value->value - half * scale;
	value->high = value->value + half * scale;
	if (value->low < 0)
		value->low = 0;
}

/*
 * The cost that was subtracted is that of moments taken as when it was measured. Where another
 * event was off the PMU then, or is now, the kernel is asked for it between the readings of the
 * others, and how much that adds to them is not known. Beside what scaling adds it is little.
 */
static void judge_cost(const struct culprit_counters *counters, size_t index,
		       struct culprit_value *value)
{
	if (!counters->calibrated || value->flags & (CULPRIT_ABSENT | CULPRIT_MULTIPLEXED))
		return;
	if (counters->costs[index].known &&
	    counters_asked(counters, counters->begin) + counters_asked(counters, counters->end) ==
		    counters->costs_asked)
		return;
	value->flags |= CULPRIT_NO_INTERVAL;
	value->low = value->high = NAN;
}

static void take_slices(struct culprit_counters *counters)
{
	for (size_t i = 0; i < counters->events.count; i++)
		counters->enabled_ns[i] = counters->end[i].enabled_ns;
	count_set_take_slices(counters->set, counters->enabled_ns);
}

bool counters_switched_out(uint64_t wall_ns, uint64_t enabled_ns)
{
	return wall_ns > enabled_ns &&
	       wall_ns - enabled_ns > SWITCHED_OUT_NS + wall_ns / SWITCHED_OUT_SHARE;
}

/* Switched out, as far as the clock tells: wall time passed that no event was enabled in. */
static uint32_t interruption(const struct culprit_counters *counters,
			     const struct culprit_value *value)
{
	uint64_t wall = counters->end_ns - counters->begin_ns;
	if (!counters->begin_ns || value->flags & CULPRIT_ABSENT || !value->enabled_ns)
		return 0;
	return counters_switched_out(wall, value->enabled_ns) ? CULPRIT_INTERRUPTED : 0;
}

int culprit_counters_values(struct culprit_counters *counters, struct culprit_value *values,
			    size_t count)
{
	if (!counters->started)
		return -EINVAL;
	int status = 0;
	if (!counters->stopped)
		status = counters_take_end(counters, counters->end);
	take_slices(counters);
	for (size_t i = 0; i < count && i < counters->events.count; i++) {
		const struct counted *counted = &counters->counted[i];
		difference_on_target(counters, 0, i, &values[i]);
		for (size_t t = 1; t < counters->targets; t++) {
			struct culprit_value part;
			difference_on_target(counters, t, i, &part);
			add_value(&values[i], &part);
		}
		set_interval(counters, i, &values[i]);
		judge_cost(counters, i, &values[i]);
		values[i].flags |= interruption(counters, &values[i]);
		if (counted->substitute)
			values[i].flags |= CULPRIT_SUBSTITUTE;
	}
	return status;
}

size_t culprit_counters_count(const struct culprit_counters *counters)
{
	return counters->events.count;
}

int culprit_counters_event(const struct culprit_counters *counters, size_t index,
			   struct culprit_event *event)
{
	if (index >= counters->events.count)
		return -EINVAL;
	const struct counted *counted = &counters->counted[index];
	*event = (struct culprit_event){
		.name = counted->name,
		.counted = counted->counted,
		.unit = counters->events.events[index].unit,
		.core_type = counters->events.events[index].core_type,
		.why = counted->why,
		.group = (unsigned)count_set_group(counters->set, index),
		.user_space = counters->own_thread && count_set_is_live(counters->set, index),
	};
	return 0;
}

int culprit_counters_cost(const struct culprit_counters *counters, size_t index, double *median,
			  double *spread)
{
	if (index >= counters->events.count)
		return -EINVAL;
	if (!counters->calibrated || !counters->costs[index].known)
		return -ENODATA;
	*median = counters->costs[index].median * counters->events.events[index].scale;
	*spread = counters->costs[index].spread * counters->events.events[index].scale;
	return 0;
}
