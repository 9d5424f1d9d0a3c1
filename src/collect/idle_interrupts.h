/*
 * idle_interrupts - how much time the timer interrupts of a sampled clock take on a CPU
 * that idles. There they come as often as ever, take no sample, and count as busy time in
 * the kernel (docs/methods.md, "Clock shortfall").
 */
#pragma once

#include <stdint.h>

struct idle_cost;

/* Of one clock on one CPU, between two readings of the clocks. */
struct idle_time {
	double interrupts; /* of the timer, in all that time */
	uint64_t wall_ns;
	uint64_t idle_ns;
	/* Of wall_ns and idle_ns: while periods were longer, as the CPU idled; and the interrupts
	 * then. */
	double calm_ns, calm_interrupts;
	uint64_t shortfall_ns; /* busy time without a sample, which bounds the estimate */
};

struct idle_interrupts {
	uint64_t count;
	uint64_t ns, low_ns, high_ns; /* low <= ns <= high <= the shortfall */
};

/* How many interrupts came while the CPU idled, when each takes `cost_ns` from the idle time. */
double idle_interrupts_count(const struct idle_time *time, double cost_ns);
/* Count and time of these interrupts, by the cost of one. */
struct idle_interrupts idle_interrupts_estimate(const struct idle_time *time,
						const struct idle_cost *cost);
