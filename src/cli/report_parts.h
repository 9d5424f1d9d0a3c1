/*
 * report_parts - the options of what a row is. report and diff have all of them, other verbs some.
 */
#pragma once

#include <stdbool.h>

#include "analyze/report/report.h"
#include "cli/options.h"

/*
 * Rows of an option table, with the variables that they set. `more` are parts that this verb alone
 * knows, as ", address" or "".
 */
#define BY_OPTION_ROW(by, more)                                                                    \
	{                                                                                          \
		"by", 0, OPTION_TEXT, "PART[,PART]",                                               \
			"procedure (the default), image, process, thread, cpu, cgroup, service, "  \
			"container, line" more,                                                    \
			&(by), NULL                                                                \
	}
#define INCLUSIVE_OPTION_ROW(inclusive)                                                            \
	{                                                                                          \
		"inclusive", 0, OPTION_FLAG, NULL, "with the time of what a procedure called",     \
			&(inclusive), NULL                                                         \
	}
#define NO_INLINE_OPTION_ROW(no_inline)                                                            \
	{                                                                                          \
		"no-inline", 0, OPTION_FLAG, NULL, "leave inlined functions in their callers",     \
			&(no_inline), NULL                                                         \
	}
#define FULL_NAMES_OPTION_ROW(full_names)                                                          \
	{                                                                                          \
		"full-names", 0, OPTION_FLAG, NULL, "fold no long names of procedures",            \
			&(full_names), NULL                                                        \
	}

struct verb;

/* Adds the parts of the value of --by, as "procedure,image", to *options; NULL is procedure. 0, or
 * the exit status after a message. */
int report_parts_choose(const struct verb *verb, const char *by, struct report_options *options);
