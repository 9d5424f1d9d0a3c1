/*
 * accuracy_truth - `culprit accuracy --truth`: estimates of a profile against exact
 * counts of the same program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/accuracy_options.h"

struct verb;

struct accuracy_truth_options {
	const char *truth; /* a file with exact counts; NULL: --truth is not given */
	const char *scale, *procedure, *image, *pipeline;
	double runs;
	uint64_t procedures;
	bool runs_given, procedures_given, alone;
};

/* Rows of an option table, all but --truth; `o` is a struct accuracy_truth_options that outlives
 * the table. */
#define ACCURACY_TRUTH_OPTION_ROWS(o)                                                                   \
	{ "scale",                                                                                      \
	  0,                                                                                            \
	  OPTION_TEXT,                                                                                  \
	  "absolute|procedure|program",                                                                 \
	  "with --truth: what one factor from it puts right",                                           \
	  &(o).scale,                                                                                   \
	  NULL },                                                                                       \
		{ "runs",	  0, OPTION_DOUBLE, "N", "the profile is of N runs (1)", &(o).runs,     \
		  &(o).runs_given },                                                                    \
		{ "procedure",	  0,   OPTION_TEXT, "NAME", "with --truth: this procedure only",        \
		  &(o).procedure, NULL },                                                               \
		{ "image", 0, OPTION_TEXT, "NAME", "with --truth: this image only", &(o).image, NULL }, \
		{ "pipeline",                                                                           \
		  0,                                                                                    \
		  OPTION_TEXT,                                                                          \
		  "NAME",                                                                               \
		  "with --truth: the processor's table, in place of the recorded one's",                \
		  &(o).pipeline,                                                                        \
		  NULL },                                                                               \
		{ "samples-alone",                                                                      \
		  0,                                                                                    \
		  OPTION_FLAG,                                                                          \
		  NULL,                                                                                 \
		  "with --truth: leave branches that were seen aside",                                  \
		  &(o).alone,                                                                           \
		  NULL },                                                                               \
	{                                                                                               \
		"procedures", 0, OPTION_U64, "N", "with --truth: list the N hottest (10)",              \
			&(o).procedures, &(o).procedures_given                                          \
	}

/* Compares and prints. `shared` says how the profile is read, `paths` are its `count` files.
 * Returns the exit status. */
int accuracy_truth_run(const struct verb *verb, const struct accuracy_options *shared,
		       const struct accuracy_truth_options *options, char *const *paths,
		       size_t count);
