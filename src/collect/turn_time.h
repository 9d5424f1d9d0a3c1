/*
 * turn_time - what an event of one CPU counts that is on the PMU in turns only (collect/turns.h),
 * scaled to all of the time. Pure.
 *
 * Time is cut into rounds, in each of which every set has one turn. What was counted in the turn
 * stands for the round. How far the sum may be wrong is judged from how the rate differs from turn
 * to turn (machine/slices.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/slices.h"

/* Counted while it was on the PMU, which was a part of the time. */
struct turn_sums {
	double count, ns, ran_ns;
};

struct turn_time {
	uint64_t since_ns;	  /* when the present round began */
	double count, ran_ns;	  /* in its turn, once that has ended */
	struct turn_sums present; /* of a turn that goes on; ns: enabled */
	double rate;		  /* events a ns, in the last turn */
	/* Since the last turn_time_take_variance(): of the rounds that have ended; and the turns.
	 */
	struct turn_sums rounds;
	struct slices slices;
};

/* A round that has ended. */
struct turn_round {
	double events; /* scaled */
	uint64_t ns, ran_ns;
};

/* Adds a reading within a turn: what was counted since the last one, in how many ns enabled, of
 * which that many on the PMU. */
void turn_time_add(struct turn_time *time, uint64_t count, uint64_t enabled_ns,
		   uint64_t running_ns);
/* Whether the present turn's readings show any time enabled. */
bool turn_time_advanced(const struct turn_time *time);
/* The turn has ended, after `on_ns` by the wall; 0: its enabled time says how long it was. */
void turn_time_rest(struct turn_time *time, uint64_t on_ns);
/* Ends the round. False when no turn has ended in it: then it goes on. */
bool turn_time_close(struct turn_time *time, uint64_t now_ns, struct turn_round *round);
/* As that, where nothing more will come: without a turn the rate of the last one stands for it.
 * False when there never was one. */
bool turn_time_finish(struct turn_time *time, uint64_t now_ns, struct turn_round *round);
/* The variance of the sum of all scaled counts since the last call, such that 1.96 standard errors
 * are half its interval of 95 %. False where there were too few turns; then they count for the next
 * call as well. */
bool turn_time_take_variance(struct turn_time *time, double *variance);
