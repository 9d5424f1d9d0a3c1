#include "collect/idle_interrupts.h"

#include <math.h>

#include "collect/idle_cost.h"

double idle_interrupts_count(const struct idle_time *time, double cost_ns)
{
	double wall = (double)time->wall_ns - time->calm_ns;
	double idle = (double)time->idle_ns - time->calm_ns;
	double rate = wall > 0 ? (time->interrupts - time->calm_interrupts) / wall : 0;
	if (!(rate > 0) || !(idle > 0))
		return time->calm_interrupts;
	/* They come at that rate while the CPU idles and while they are handled themselves:
	 * span = idle + rate * span * cost, solved for the span. */
	double share = 1 - rate * cost_ns;
	double span = share * wall > idle ? idle / share : wall;
	return rate * span + time->calm_interrupts;
}

static uint64_t cost_of(const struct idle_time *time, double cost_ns)
{
	double ns = idle_interrupts_count(time, cost_ns) * cost_ns;
	return ns < (double)time->shortfall_ns ? (uint64_t)llround(ns) : time->shortfall_ns;
}

struct idle_interrupts idle_interrupts_estimate(const struct idle_time *time,
						const struct idle_cost *cost)
{
	return (struct idle_interrupts){
		.count = (uint64_t)llround(idle_interrupts_count(time, cost->ns)),
		.ns = cost_of(time, cost->ns),
		.low_ns = cost_of(time, cost->low_ns),
		.high_ns = cost_of(time, cost->high_ns),
	};
}
