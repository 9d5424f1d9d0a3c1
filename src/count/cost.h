/*
 * cost - what taking two moments adds to the counts that lie between them: measured by taking them
 * with nothing between, some hundred times.
 */
#pragma once

#include <stddef.h>

struct count_cost;
struct count_moment;

/* Times that nothing is measured. 95 % of them is a whole number above and below. */
#define COST_TRIALS 400

/*
 * Median and spread of `count` differences (of one event, COST_TRIALS at most; sorted here). The
 * spread is the larger distance from the median to the 2.5th and the 97.5th percentile.
 */
void count_cost_of(double *differences, size_t count, struct count_cost *cost);

/* Takes the moments of all events, as the begin and the end of a measurement do. */
struct cost_subject {
	void (*begin)(void *context, struct count_moment *moments);
	void (*end)(void *context, struct count_moment *moments);
	void *context;
	size_t events;
};

/* Measures what a begin and an end cost each event, into costs[0..events). An event that is not
 * counted has none. 0 or -ENOMEM. */
int count_cost_measure(const struct cost_subject *subject, struct count_cost *costs);
