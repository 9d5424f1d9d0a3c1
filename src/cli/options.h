/*
 * options - one table per verb that feeds parsing, --help and completion.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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

#define OPTIONS_ONE_SIDE SIZE_MAX
/*
 * The same of a verb that compares two sides, which a "--" stands between: options go on behind it.
 * Stores in *before how many of the arguments stand before it, or OPTIONS_ONE_SIDE without one. A
 * "--" before all arguments ends the options, as elsewhere.
 */
int options_parse_sides(const struct verb *verb, int argc, char **argv, int *argument_count,
			size_t *before);

/* Returns 0, or 2 after a message when the value of --NAME is not from 0 to 100. */
int options_check_share(const struct verb *verb, const char *name, double percent);

/* Says "culprit: <sentence>; try 'culprit VERB --help'" on stderr and returns 2. */
__attribute__((format(printf, 2, 3))) int options_misuse(const struct verb *verb,
							 const char *format, ...);

/*
 * Reads a file with lines "NAME = VALUE", where NAME is that of an option; "NAME" alone, or
 * "NAME = yes", for one without a value. Empty lines and those that begin with # do not count.
 * To be called before options_parse(), whose options replace those of the file. Fills what the
 * options point to, and keeps the texts until the process ends. 0; 2 after a message that names the
 * line; or 1 where it cannot be read.
 */
int options_read_file(const struct verb *verb, const char *path);
/*
 * Of options that exclude each other, whose names stand in `names` with spaces between: where one
 * of them was an argument, what the file says of the others does not count. They are options that
 * have no value unless they are given, or have a place for whether they are. Called after
 * options_parse().
 */
void options_prefer_arguments(const struct verb *verb, const char *names);
/* The value of --NAME among the arguments, which are not parsed: the last one; NULL: it is not
 * there. For an option of kind OPTION_TEXT that says what to read before options_parse(). */
const char *options_peek(int argc, char *const *argv, const char *name);
