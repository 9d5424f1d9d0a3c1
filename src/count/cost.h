/*
 * cost - what taking two moments adds to the counts that lie between them: measured by taking them
 * with nothing between, some hundred times.
 */
#pragma once

#include <stddef.h>

struct count_cost;
struct count_set;

/* Times that nothing is measured. 95 % of them is a whole number above and below. */
#define COST_TRIALS 400

/*
 * Median and spread of `count` differences (of one event, COST_TRIALS at most; sorted here). The
 * spread is the larger distance from the median to the 2.5th and the 97.5th percentile.
 */
void count_cost_of(double *differences, size_t count, struct count_cost *cost);

/* Measures the costs of all events of the set, whose first target is this thread, into costs[0..
 * count_set_events()). An event that is not counted has none. 0 or -ENOMEM. */
int count_set_cost(struct count_set *set, struct count_cost *costs);
