/*
 * pace - a token bucket that admits pieces of work up to a budget of CPU time. Each
 * candidate earns an allowance; one is admitted when the mean cost of recent pieces is saved
 * up. So candidates are admitted as evenly as can be, whatever each turns out to cost: what some
 * cost more than that is paid back by half of what comes in, until it is more than the limit, so that
 * fewer are admitted for a while, and not none.
 */
#pragma once

#include <stdint.h>

struct pace {
	double saved_ns;
	double debt_ns;	  /* what pieces have cost more than was set aside for them */
	double limit_ns;  /* the most that is saved: quiet times must not pay for a burst */
	double cost_ns;	  /* of one piece, as a moving average */
	uint64_t counted; /* how many pieces made that average */
};

/* `first_ns`: saved from the beginning; `cost_ns`: a guess, until costs are measured. */
void pace_init(struct pace *pace, double first_ns, double limit_ns, double cost_ns);
/* Earns the allowance of one candidate. Returns what is set aside for it when it is admitted, else
 * 0. */
double pace_admit(struct pace *pace, double allowance_ns);
/*
 * Corrects by what `count` admitted pieces, for which `set_aside_ns` was set aside, have cost
 * together. The first ones are taken to have cost no more than that: what starting costs on a slow
 * machine says nothing of the pieces that follow, and none would be admitted until it is earned.
 */
void pace_settle(struct pace *pace, uint64_t count, double set_aside_ns, double cost_ns);
