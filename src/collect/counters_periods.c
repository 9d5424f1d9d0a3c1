#include "collect/counters.h"

#include <sys/ioctl.h>

#include "base/clock.h"

#define PERIODS_A_DRAW 16

/* The event's highest rate of all CPUs: there samples shall come at the frequency asked for. */
static double fastest_rate(const struct counters *counters, size_t sampler)
{
	double rate = 0;
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		double here = counters_lane(counters, sampler, slot)->rate_per_second;
		rate = here > rate ? here : rate;
	}
	return rate;
}

/*
 * Whether a new period may be drawn. A clock's lasts PERIODS_A_DRAW periods, since
 * each change costs half a period in precision; on a CPU that idles CALM_PERIODS times as many, for
 * there much of the work is our own, which follows upon a draw and is over before the first long
 * tick. A counted event's lasts a window of weights (profile/weight.h), so that all samples of a
 * window stand for the same.
 */
static bool redraw_due(const struct sampler *sampler, const struct lane *lane)
{
	if (!sampler->clock)
		return lane->weight.count == 0 && lane->weight.lost == 0;
	if (!lane->periods.count || lane->calm != lane->drawn_calm)
		return true;
	const struct period_change *last = &lane->periods.changes[lane->periods.count - 1];
	uint64_t periods = PERIODS_A_DRAW * (lane->drawn_calm ? CALM_PERIODS : 1);
	return clock_monotonic_ns() - last->time_ns >= periods * last->period;
}

struct calm_time lane_calm(const struct lane *lane, uint64_t now_ns)
{
	struct calm_time calm = lane->calm_before;
	if (lane->drawn_calm) {
		calm.ns += (double)now_ns;
		calm.interrupts += period_log_interrupts(&lane->periods, now_ns);
	}
	return calm;
}

void lane_note_period(struct lane *lane, uint64_t now_ns, uint64_t period)
{
	struct calm_time before = lane_calm(lane, now_ns);
	bool wakes = lane->drawn_calm && !lane->calm;
	period_log_add_owing(&lane->periods, now_ns, period,
			     (wakes ? period : period_log_current(&lane->periods)) / 2);
	if (lane->calm == lane->drawn_calm)
		return;
	lane->drawn_calm = lane->calm;
	struct calm_time after = lane_calm(lane, now_ns);
	lane->calm_before.ns += before.ns - after.ns;
	lane->calm_before.interrupts += before.interrupts - after.interrupts;
}

void counters_redraw(struct counters *counters, struct random_state *random)
{
	double scale = counters->period_scale > 1 ? counters->period_scale : 1;
	for (size_t i = 0; i < counters->sampler_count; i++) {
		struct sampler *sampler = &counters->samplers[i];
		if (sampler->policy == PERIOD_FREQUENCY && sampler->sampled) {
			double rate = fastest_rate(counters, i);
			/* While a machine is quiet the period must not fall to nothing. */
			uint64_t wanted =
				period_mean_for(rate, sampler->frequency_hz / scale, true);
			if (wanted < sampler->mean_period / 16)
				wanted = sampler->mean_period / 16;
			if (rate > 0)
				sampler->mean_period = (sampler->mean_period + wanted + 1) / 2;
		}
	}
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *counter = &counters->list[i];
		const struct sampler *sampler = &counters->samplers[counter->sampler];
		if (!sampler->sampled || counter->gone || sampler->policy == PERIOD_FIXED)
			continue;
		struct lane *lane = counters_lane(counters, counter->sampler, counter->slot);
		if (!redraw_due(sampler, lane))
			continue;
		/* that of a frequency has been adapted above */
		double mean = (double)sampler->mean_period *
			      (sampler->policy == PERIOD_FREQUENCY ? 1 : scale) *
			      (lane->calm ? CALM_PERIODS : 1);
		uint64_t period = period_draw(random, (uint64_t)mean);
		if (ioctl(counter->fd, PERF_EVENT_IOC_PERIOD, &period) == 0) {
			lane_note_period(lane, clock_monotonic_ns(), period);
			lane->sums.period_changes++;
		}
	}
}
