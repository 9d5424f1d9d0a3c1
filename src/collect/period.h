/*
 * period - which period was in force when. The period of a random schedule is
 * drawn anew at each drain. A clock event's
 * sample weighs the period that was in force at its time, known from this log
 * alone: the kernel's PERF_SAMPLE_PERIOD stays at the opening value.
 *
 * A change starts the running period anew, so that what had passed of the old
 * one, half of it on average, is in no sample. The first tick after a change
 * stands for that half too; without it every change would lose p/2.
 */
#pragma once

#include <stdint.h>

#include "base/random.h"

#define PERIOD_LOG                                                                                 \
	8 /* changes that records not yet handled may lie before: one a drain, two drains at most  \
	   */

struct period_change {
	uint64_t time_ns; /* from then on */
	uint64_t period;
	uint64_t before; /* period; 0 at the start */
};

struct period_log {
	struct period_change changes[PERIOD_LOG]; /* the last `count`, oldest first */
	unsigned count;
	double interrupts; /* of the timer, up to the last change */
};

void period_log_add(struct period_log *log, uint64_t time_ns, uint64_t period);
static inline uint64_t period_log_current(const struct period_log *log)
{
	return log->count ? log->changes[log->count - 1].period : 0;
}
/* How often a clock's timer has interrupted until then, whoever ran. */
double period_log_interrupts(const struct period_log *log, uint64_t time_ns);
/* The timer stood still in between. */
void period_log_skip(struct period_log *log, uint64_t from_ns, uint64_t to_ns);
/* What a clock event's sample at that time weighs. */
uint64_t period_log_weight(const struct period_log *log, uint64_t time_ns);

/*
 * Uniform in 0.5 to 1.5 times `mean`, at least 1, in 17 steps that are even multiples of
 * one unit, mean / 32. All weights of a clock are then multiples of that unit (half a period
 * too), which halves a stored cell; the phase of the samples is as random as ever.
 */
uint64_t period_draw(struct random_state *random, uint64_t mean);
/*
 * The mean period that gives `hz` samples a second of what advances by
 * `events_per_second`: random periods sample 1.11 times as often as their mean does.
 */
uint64_t period_mean_for(double events_per_second, double hz, int random);
/* A fixed period near `period` that locks to no tick: the next prime. */
uint64_t period_prime(uint64_t period);
