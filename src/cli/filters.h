/*
 * filters - which samples a command looks at. The same options stand in the
 * table of every command that has filters.
 */
#pragma once

#include "analyze/report/report.h"
#include "cli/options.h"

struct filter_options {
	struct option_list events, processes, images, cgroups, services, containers;
	const char *cpus, *focus, *ignore;
};

/* Rows of an option table; `o` is a struct filter_options that outlives the table. */
#define EVENT_OPTION_ROW(o)                                                                        \
	{                                                                                          \
		"event", 'e', OPTION_LIST, "EVENT", "this event only", &(o).events, NULL           \
	}
#define FILTER_OPTION_ROWS(o)                                                                          \
	{ "process",                                                                                   \
	  0,                                                                                           \
	  OPTION_LIST,                                                                                 \
	  "NAME|PID",                                                                                  \
	  "processes of this name; * matches any text",                                                \
	  &(o).processes,                                                                              \
	  NULL },                                                                                      \
		{ "image",     0,   OPTION_LIST, "NAME|BUILDID", "code of this binary, or kernel",     \
		  &(o).images, NULL },                                                                 \
		{ "cpu", 'C', OPTION_TEXT, "CPUS", "these CPUs, as 0-3,8", &(o).cpus, NULL },          \
		{ "cgroup",	0,   OPTION_LIST, "PATH", "this cgroup and those below it",            \
		  &(o).cgroups, NULL },                                                                \
		{ "service", 0, OPTION_LIST, "NAME", "this service of systemd", &(o).services, NULL }, \
		{ "container",                                                                         \
		  0,                                                                                   \
		  OPTION_LIST,                                                                         \
		  "NAME",                                                                              \
		  "this container, by the first digits too",                                           \
		  &(o).containers,                                                                     \
		  NULL },                                                                              \
		{ "focus",    0,   OPTION_TEXT, "REGEX", "stacks with a matching procedure only",      \
		  &(o).focus, NULL },                                                                  \
	{                                                                                              \
		"ignore", 0, OPTION_TEXT, "REGEX", "no stacks with a matching procedure",              \
			&(o).ignore, NULL                                                              \
	}

/* Sets the filters of `report`, which points into `options` from then on. */
void filters_apply(const struct filter_options *options, struct report_options *report);
