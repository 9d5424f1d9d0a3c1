/*
 * probe_estimates - what a profile estimates for the instructions that `accuracy --probe` counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/accuracy_options.h"

struct breakpoint;
struct probe_estimates;

struct probe_estimate {
	bool known;
	/* Executions in one run, multiplied with `factor`. */
	double value, low, high; /* low and high: NaN without an interval */
	/* What makes the estimates of several probes add up to their counts; 1: they are absolute.
	 */
	double factor;
	const char *confidence;
	char why[256]; /* not `known`: the reason */
};

/* Reads the profile of options->input. Returns 0 and what the caller frees, or the exit status
 * after a message. */
int probe_estimates_open(const struct accuracy_options *options, struct probe_estimates **out);
void probe_estimates_free(struct probe_estimates *estimates);	/* NULL does nothing */
void probe_estimates_freep(struct probe_estimates **estimates); /* for CLEANUP() */

/* The estimate for each of the `count` breakpoints, by their counts. */
void probe_estimates_fill(struct probe_estimates *estimates, const struct breakpoint *list,
			  size_t count, struct probe_estimate *rows);
