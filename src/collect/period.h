/*
 * period - which sampling period was in force when. Random periods are drawn anew now
 * and then (counters_redraw()). A clock event's sample weighs the period that was in
 * force at its time, known from this log alone: the kernel's PERF_SAMPLE_PERIOD stays
 * at the value that the event was opened with.
 *
 * A change restarts the timer, so that what had passed of the old period, half of it
 * on average, is in no sample. The first tick after a change stands for that half too;
 * without it every change would lose p/2.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/* How many changes are kept for records that are not processed yet: one each time that rings are
 * served, ten a second; what waits longest does so for a second (collect/bursts.h). */
#define PERIOD_LOG 16

struct period_change {
	uint64_t time_ns; /* from then on */
	uint64_t period;
	uint64_t owed_ns; /* that the first tick stands for besides */
};

struct period_log {
	struct period_change changes[PERIOD_LOG]; /* the last `count`, oldest first */
	unsigned count;
	double interrupts; /* of the timer, up to the last change; estimated */
};

/* Notes that `period` is in force from `time_ns` on. */
void period_log_add(struct period_log *log, uint64_t time_ns, uint64_t period);
/* The same where the first tick shall stand for that much besides. */
void period_log_add_owing(struct period_log *log, uint64_t time_ns, uint64_t period,
			  uint64_t owed_ns);
/* What the first tick since the last change stands for besides. */
static inline uint64_t period_log_owed(const struct period_log *log)
{
	return log->count ? log->changes[log->count - 1].owed_ns : 0;
}
/* The period of the last change; 0 before the first. */
static inline uint64_t period_log_current(const struct period_log *log)
{
	return log->count ? log->changes[log->count - 1].period : 0;
}
/* How often a clock's timer has interrupted by then, idle CPUs included (docs/methods.md, "Clock
 * shortfall"). */
double period_log_interrupts(const struct period_log *log, uint64_t time_ns);
/* Notes that the timer stood still in between, since the last change. */
void period_log_skip(struct period_log *log, uint64_t from_ns, uint64_t to_ns);
/* What a clock event's sample at that time weighs, in ns; 0 without any period. */
uint64_t period_log_weight(const struct period_log *log, uint64_t time_ns);

/*
 * Uniform in 0.5 to 1.5 times `mean`, at least 1, in 17 steps that are even multiples of
 * one unit, mean / 32. All weights of a clock are then multiples of that unit (half a period
 * too), which halves a stored cell; the phase of the samples is as random as ever.
 */
uint64_t period_draw(struct random_state *random, uint64_t mean);
/*
 * The mean period that gives `hz` samples a second of an event that advances by
 * `events_per_second`. Each random period lasts a while, so that the rate is the mean of
 * 1 / period: 1.11 times that of the mean period.
 */
uint64_t period_mean_for(double events_per_second, double hz, bool random);
/* The next prime from `period` on (above 2^32 the next odd number): a fixed period that does not
 * lock to periodic work. */
uint64_t period_prime(uint64_t period);
