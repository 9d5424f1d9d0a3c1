#include "collect/period.h"

#include <string.h>

/* How much of a period a change cuts off, on average. */
#define CUT_SHORT 0.5

static double since_change(const struct period_log *log, uint64_t time_ns)
{
	const struct period_change *last = log->count ? &log->changes[log->count - 1] : NULL;
	return last && time_ns > last->time_ns
		       ? (double)(time_ns - last->time_ns) / (double)last->period
		       : 0;
}

double period_log_interrupts(const struct period_log *log, uint64_t time_ns)
{
	return log->interrupts + since_change(log, time_ns);
}

void period_log_add(struct period_log *log, uint64_t time_ns, uint64_t period)
{
	period_log_add_owing(log, time_ns, period, period_log_current(log) / 2);
}

void period_log_add_owing(struct period_log *log, uint64_t time_ns, uint64_t period,
			  uint64_t owed_ns)
{
	double passed = since_change(log, time_ns);
	log->interrupts += passed > CUT_SHORT ? passed - CUT_SHORT : 0;
	if (log->count == PERIOD_LOG)
		memmove(log->changes, log->changes + 1, --log->count * sizeof(*log->changes));
	log->changes[log->count++] = (struct period_change){ time_ns, period, owed_ns };
}

void period_log_skip(struct period_log *log, uint64_t from_ns, uint64_t to_ns)
{
	if (log->count && to_ns > from_ns)
		log->interrupts -= since_change(log, to_ns) - since_change(log, from_ns);
}

uint64_t period_log_weight(const struct period_log *log, uint64_t time_ns)
{
	unsigned at = log->count;
	while (at > 1 && log->changes[at - 1].time_ns > time_ns)
		at--;
	if (!at)
		return 0;
	const struct period_change *change = &log->changes[at - 1];
	/* The first tick is due one period after the change; late by less than half of one. */
	bool first = time_ns - change->time_ns < change->period + change->period / 2;
	return change->period + (first ? change->owed_ns : 0);
}

#define STEPS_LEAST 8 /* of 2 units each; the mean is 16 steps */
#define STEPS_MOST  24
/* 16 times the mean of 1/k for k from 8 to 24: the ratio of the mean of 1 / period to 1 / mean
 * period. */
#define RANDOM_RATE 1.113507

uint64_t period_draw(struct random_state *random, uint64_t mean)
{
	uint64_t unit = mean / (STEPS_LEAST + STEPS_MOST);
	uint64_t steps = STEPS_LEAST + random_below(random, STEPS_MOST - STEPS_LEAST + 1);
	if (unit)
		return 2 * unit * steps;
	uint64_t period = mean / 2 + random_below(random, mean + 1); /* a few events only */
	return period ? period : 1;
}

uint64_t period_mean_for(double events_per_second, double hz, bool random)
{
	double mean = events_per_second / hz * (random ? RANDOM_RATE : 1);
	return mean < 1 ? 1 : (uint64_t)mean;
}

static bool is_prime(uint64_t number)
{
	if (number < 4)
		return number > 1;
	if (number % 2 == 0)
		return false;
	for (uint64_t divisor = 3; divisor * divisor <= number; divisor += 2)
		if (number % divisor == 0)
			return false;
	return true;
}

uint64_t period_prime(uint64_t period)
{
	/* Longer than four seconds of ns: nothing periodic is near, and trial division is slow. */
	if (period > UINT32_MAX)
		return period | 1;
	while (!is_prime(period))
		period++;
	return period;
}
