/*
 * pace - thins work that may cost no more than a share of what passes: every chance
 * earns an allowance, and one is taken when the mean cost of the last ones is saved up. So
 * chances are taken as evenly as can be, whatever each turns out to cost.
 */
#pragma once

#include <stdint.h>

struct pace {
	double saved_ns;  /* below 0: spent beforehand */
	double limit_ns;  /* more than this is not saved: idle times must not pay for a burst */
	double cost_ns;	  /* of one, on average of late */
	uint64_t counted; /* how many made that average */
};

/* `first_ns`: saved from the beginning; `cost_ns`: a guess until the first costs are known. */
void pace_init(struct pace *pace, double first_ns, double limit_ns, double cost_ns);
/* Earns. Returns what is set aside for taking this one; 0: leave it. */
double pace_admit(struct pace *pace, double allowance_ns);
/* What `count` taken ones cost altogether, for which so much was set aside. */
void pace_settle(struct pace *pace, uint64_t count, double set_aside_ns, double cost_ns);
