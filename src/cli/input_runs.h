/*
 * input_runs - several profiles read as runs of one thing: merged to one profile whose events and
 * recordings are marked (profile/runs.h), so that they can be told apart again.
 */
#pragma once

#include <stddef.h>

#include "cli/input.h"

enum input_epochs {
	INPUT_EPOCHS_ARE_RUNS, /* each selected epoch of a database is a run */
	INPUT_EPOCHS_TOGETHER, /* a database is one run, as it is one profile elsewhere */
};

struct input_runs {
	struct input whole;
	char **titles; /* by run */
	size_t count;
};
void input_runs_release(struct input_runs *runs); /* for CLEANUP() */

/*
 * As input_read(), but that nothing is read without an argument or -i: `runs` is empty then. Runs
 * are numbered from 1 in the order of the arguments, epochs by host and time. Returns 0 and what
 * the caller releases, or the exit status after a message.
 */
int input_read_runs(const struct input_options *options, char *const *arguments, size_t count,
		    enum input_epochs epochs, struct input_runs *runs);
