/*
 * slices - how far a count may be wrong that was taken a part of the time only and scaled to all of
 * it, judged by how the event's rate varied from one slice of time on the PMU to the next.
 *
 * Let an event be to count for E ns, be on the PMU for R of them, and count c. c E / R is the
 * estimate. Its error is what happened while nobody looked: with noise of variance v per ns that is
 * independent from slice to slice, v (E - R) for the time not seen, and (E - R)^2 v / R for the
 * rate that stands for it, v E (E - R) / R in all (Cochran, Sampling Techniques, 3rd edition, 2.5
 * and 2.6: the variance of an estimated total, finite population correction included). v comes from
 * the differences of neighbouring slices, which slow changes of the rate do not enter (Cochran 8.7
 * of systematic sampling; von Neumann, "Distribution of the ratio of the mean square successive
 * difference to the variance", 1941): between slices i - 1 and i with r ns and a rest d = c - rate
 * r each, (d_i - d_(i-1))^2 is v (r_i + r_(i-1)) in the mean.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer slices say too little of how the rate varies. */
#define SLICES_LEAST 4

/* What is kept of the slices of one event; zeroed, it has none. */
struct slices {
	size_t count;
	double last_count, last_running; /* of the slice before */
	/* Sums over neighbouring slices: of squares and products of the differences of counts and
	   of times, and of the times of both. */
	double count_squares, products, time_squares, times;
};

/* Adds one slice: events counted, and ns on the PMU in which they were. Without time it is none. */
void slices_add(struct slices *slices, double count, double running_ns);

/*
 * Half the width of the 95 % interval of the scaled count: of `count` events counted in
 * `running_ns` of `enabled_ns`. False when there are too few slices.
 */
bool slices_half_width(const struct slices *slices, double count, double enabled_ns,
		       double running_ns, double *half_width);
