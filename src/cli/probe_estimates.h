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
	/* For one run, after the factor. */
	double value, low, high; /* low and high: NaN without an interval */
	/* What the count itself put right, of several probes that go together; 1: nothing. */
	double factor;
	const char *confidence;
	char why[256]; /* it is not known */
};

/* Reads the profile. Returns 0, or the exit status after a message. */
int probe_estimates_open(const struct accuracy_options *options, struct probe_estimates **out);
void probe_estimates_free(struct probe_estimates *estimates);	/* NULL does nothing */
void probe_estimates_freep(struct probe_estimates **estimates); /* for CLEANUP() */

/* Of each of the list. */
void probe_estimates_fill(struct probe_estimates *estimates, const struct breakpoint *list,
			  size_t count, struct probe_estimate *rows);
