/*
 * idle_cost - what an interrupt of a sampled clock costs on an idle CPU: how much less
 * idle time the kernel counts. Measured on a CPU that idles now, with many interrupts for
 * a fifth of a second. As the kernel shows idle time in ticks of 1/USER_HZ, windows begin
 * and end when a tick is added (docs/methods.md, "Clock shortfall").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_attr;

struct idle_cost {
	double ns, low_ns, high_ns; /* median, least and most of the windows */
};

/* From one change of a CPU's idle time to another, while a timer interrupts it. */
struct idle_window {
	uint64_t wall_ns, idle_ns;
	uint64_t period_ns; /* of the timer */
	uint64_t samples;   /* of what was not idle */
};

/* Stores what one interrupt cost in a window. False when the CPU did too much else to tell. */
bool idle_cost_of_window(const struct idle_window *window, double *ns);
/* Sorts the costs `ns` of windows and fills *cost. False: too few windows. */
bool idle_cost_of_windows(double *ns, size_t count, struct idle_cost *cost);

/*
 * Measures with the clock `attr` on the one of `cpus` that idles most. `max_sample_rate`:
 * the kernel's limit; 0: unknown. 0, -EAGAIN when no CPU idles enough, or the negative errno of
 * opening.
 */
int idle_cost_measure(const struct perf_event_attr *attr, const int *cpus, size_t count,
		      uint64_t max_sample_rate, struct idle_cost *cost);
