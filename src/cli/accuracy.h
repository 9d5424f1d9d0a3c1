/*
 * accuracy - what the two halves of the verb share: the options, and each half's work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/input.h"
#include "cli/options.h"

struct accuracy_options {
	struct input_options input; /* the profile with the estimates */
	struct option_list probes;
	uint64_t limit; /* executions after which a probe is taken away */
	double runs;	/* of the program in the profile; 0: one */
	bool json;
};

/* Counts at options->probes while the command runs. The command's exit status, or our own. */
int accuracy_probe(const struct accuracy_options *options, char *const argv[]);
