/*
 * options - one table per verb that feeds parsing, --help and completion.
 */
#pragma once

#include "cli/verb.h"

enum options_stop {
	OPTIONS_ANYWHERE,	  /* options may follow arguments */
	OPTIONS_BEFORE_ARGUMENTS, /* the first argument ends them: `record -a sleep -x` */
};

/*
 * Parses argv[1..]; leaves the arguments in argv[1..*argument_count] in order.
 * Returns as cli/status.h has it: STATUS_DONE after --help (printed on stdout), 2 after a
 * mistake (one line on stderr). Every verb has --help/-h and --quiet/-q by itself.
 */
int options_parse(const struct verb *verb, int argc, char **argv, enum options_stop stop,
		  int *argument_count);

/* Returns 0, or 2 after a message when the value of --NAME is not from 0 to 100. */
int options_check_share(const struct verb *verb, const char *name, double percent);

/* Says "culprit: <sentence>; try 'culprit VERB --help'" on stderr and returns 2. */
__attribute__((format(printf, 2, 3))) int options_misuse(const struct verb *verb,
							 const char *format, ...);
