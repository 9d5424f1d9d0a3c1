/*
 * moment - what the counters of the calling thread stand at, read in user space where that can be
 * done; and what was counted between two such moments.
 *
 * A measurement of culprit/counter.h or culprit/region.h is two moments and their difference.
 * These functions allocate nothing and make no system call where count_set_is_live() says so.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct count_set;
struct culprit_value;

struct count_moment {
	uint64_t count;
	uint64_t enabled_ns, running_ns;
	uint32_t sequence; /* changes whenever the event is put on the PMU or taken off; 0: not
			      known */
	bool known;	   /* the count could be read */
	bool lagging;	   /* the times are those of the last such change, not of this moment */
};

/* Reads all events of the set's first target into moments[0..count_set_events()), in their order.
 * 0 or the negative errno value of a read(2) that failed; the moments of what failed are unknown.
 * In a child that fork(2) made all are: -ECHILD. */
int count_set_moments(struct count_set *set, struct count_moment *moments);

/* Whether event `event` can be read without a system call, now. */
bool count_set_is_live(const struct count_set *set, size_t event);

/* Whether reading an event takes longer once it has been off the PMU, which its two times tell:
 * where none of the set's takes turns, and all are read in user space. */
bool count_set_is_direct(const struct count_set *set);

/* What two moments with nothing between them differ by: measured, per event. */
struct count_cost {
	double median; /* events */
	double spread; /* half of what 95 of 100 lay within */
	bool known;
};

/*
 * What was counted from `begin` to `end`: scaled by enabled / running where the event was not on
 * the PMU all the time, `cost` subtracted where it is not NULL. Fills value->value, low, high,
 * count, the times and the flags of enum culprit_value_flags that follow from two moments: absent,
 * multiplexed, interrupted, unscheduled, too small. `scale` is the event's (machine/event.h).
 * The interval is that of the cost; of a multiplexed event it is not known here
 * (CULPRIT_NO_INTERVAL; slices.h). From lagging moments the times are 0: not known. An event that
 * had the PMU to itself up to a lagging `begin` and lost it since is scaled by too little, since
 * the time that `begin` lags is taken for time on the PMU; it has no interval.
 */
void count_difference(const struct count_moment *begin, const struct count_moment *end,
		      const struct count_cost *cost, double scale, struct culprit_value *value);
