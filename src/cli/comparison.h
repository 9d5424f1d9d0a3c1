/*
 * comparison - how a command compares with a base: --per and --counts. The same
 * options stand in the table of every command that compares.
 */
#pragma once

#include "analyze/figures/difference.h"
#include "cli/options.h"

struct comparison_options {
	const char *per, *counts; /* the options' words; NULL: not given */
};

/* Rows of an option table; `o` is a struct comparison_options that outlives the table, `words` are
 * the values that --per takes there. */
#define COMPARISON_OPTION_ROWS(o, words)                                                           \
	{ "per",                                                                                   \
	  0,                                                                                       \
	  OPTION_TEXT,                                                                             \
	  words,                                                                                   \
	  "what stayed the same: second when both sides watched for a time, else raw",             \
	  &(o).per,                                                                                \
	  NULL },                                                                                  \
	{                                                                                          \
		"counts", 0, OPTION_TEXT, "samples|exact",                                         \
			"what imported counts are, whose error is not known", &(o).counts, NULL    \
	}
#define COMPARISON_PER_WORDS "raw|total|second|EVENT|PROCEDURE"

/* Sets *counts as --counts says; without it they are unknown. 0, or the exit status after a
 * message. */
int comparison_choose_counts(const struct verb *verb, const struct comparison_options *options,
			     enum difference_counts *counts);
