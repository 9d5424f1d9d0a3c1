/*
 * overhead - keeps a recording within its budget while it runs: what it has taken so far,
 * interrupts and its own CPU time, is compared with what the budget allowed until then, and half a
 * minute of it in advance, for reading files costs most at the start and is not to be paid in
 * samples. Past that, mean periods grow until what is taken per second is below the budget and the
 * debt is paid back; with the debt they shrink again, never below what was planned. Pure: who knows
 * the costs calls it once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct overhead {
	double budget_ratio; /* of the CPUs' time; 0: nothing is kept */
	double sample_ns;    /* that a sample's interrupt takes; 0: not known */
	double most_scale;   /* periods grow up to so many times what was planned */
	double scale;	     /* of mean periods now; 1 or more */
	bool over;	     /* more has been taken than was allowed */
	double slowed_ns; /* so much longer would the recording have to be for the planned samples
			   */
	/* private */
	uint64_t begin_ns, step_ns;
	double begin_spent_ns, step_spent_ns;
	double mean_ratio; /* taken of late, at the present scale */
};

/* Begins at `now_ns`; `spent_ns`: what had been taken until then, which does not count. */
void overhead_begin(struct overhead *overhead, uint64_t now_ns, double spent_ns);
/* Whether a second has passed since the last step. */
bool overhead_due(const struct overhead *overhead, uint64_t now_ns);
/* Adapts the scale to what has been taken until now, of `cpus` CPUs. Without a budget it stays 1.
 */
void overhead_step(struct overhead *overhead, uint64_t now_ns, double spent_ns, double cpus);
