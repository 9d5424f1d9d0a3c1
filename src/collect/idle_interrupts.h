/*
 * idle_interrupts - what the timer of a sampled clock costs on a CPU that idles.
 * There its interrupts come as ever, take no sample, and are busy time to the
 * kernel (docs/methods.md, "Clock shortfall").
 */
#pragma once

#include <stdint.h>

struct idle_cost;

/* Of one clock on one CPU, between two readings of the clocks. */
struct idle_time {
	double interrupts; /* of the timer, in all that time */
	uint64_t wall_ns;
	uint64_t idle_ns;
	uint64_t shortfall_ns; /* busy time without a sample: it cannot have been more */
};

struct idle_interrupts {
	uint64_t count;
	uint64_t ns, low_ns, high_ns; /* low <= ns <= high <= the shortfall */
};

/* How many came while the CPU idled, when each takes `cost_ns` of what would be idle time. */
double idle_interrupts_count(const struct idle_time *time, double cost_ns);
struct idle_interrupts idle_interrupts_estimate(const struct idle_time *time,
						const struct idle_cost *cost);
