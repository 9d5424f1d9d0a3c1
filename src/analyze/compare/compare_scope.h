/*
 * compare_scope - of two recordings: whether their times were chosen, and what
 * about their machines, events and losses makes them doubtful to compare.
 */
#pragma once

#include <stdbool.h>

#include "analyze/figures/difference.h"

struct comparison;
struct profile;
struct scope;

/*
 * Did the recording last for as long as its user chose, watching what runs on by
 * itself (the machine, CPUs, processes that were there)? False when it ran a
 * command to its end, or when its command line is not known.
 */
bool compare_time_was_chosen(const struct scope *scope);

/* What the counts of a profile are: `asked`; where that is DIFFERENCE_COUNTS_UNKNOWN, exact if all
 * of the profile comes from valgrind's tools, which count every instruction. */
enum difference_counts compare_counts_of(const struct profile *profile,
					 enum difference_counts asked);

/* Adds a note for each doubt. 0 or -ENOMEM. */
int compare_note_doubts(struct comparison *comparison);
