/*
 * region_cost - what marking a region adds to what is counted, and how sure sums of many regions
 * are that have it subtracted (docs/methods.md, "Regions").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Empty regions that are measured, and those with one empty region in them. */
#define REGION_TRIALS 400

/* Of one quantity, in ticks or events. */
struct region_cost {
	bool known;
	double own_median, own_spread; /* of an empty region; 95 of 100 lay within the spread */
	double own_mean, own_variance;
	/* What an inner region adds to those around it, and the variance of an outer region with
	 * one. */
	double inner_median, inner_mean;
	double inner_variance, outer_variance;
	size_t trials;
};

/*
 * From the counts of `empty_count` empty regions, and of `outer_count` with an empty one in them;
 * both are sorted here. Counts far from all others, as of a trial that was interrupted, are left
 * out of mean and variance. Not known with fewer than 20 of either.
 */
void region_cost_of(double *empty, size_t empty_count, double *outer, size_t outer_count,
		    struct region_cost *cost);

/* Of `count` regions with `inner` regions in them, which came to `total` in all: the sum without
 * costs, and the variance of its error. */
double region_cost_net(const struct region_cost *cost, double total, double count, double inner);
double region_cost_variance(const struct region_cost *cost, double count, double inner);
