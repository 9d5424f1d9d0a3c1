/*
 * accuracy_options - the options that both halves of `culprit accuracy` use.
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
