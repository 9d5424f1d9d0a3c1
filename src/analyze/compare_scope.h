/*
 * compare_scope - of two recordings: whether their times were chosen, and what
 * about their machines, events and losses makes them doubtful to compare.
 */
#pragma once

#include <stdbool.h>

struct comparison;
struct scope;

/*
 * Did the recording last for as long as somebody wished, watching what runs on
 * by itself (the machine, CPUs, processes that were there)? False when it ran a
 * command to its end, or when nothing tells.
 */
bool compare_time_was_chosen(const struct scope *scope);

/* Adds a note for each doubt. 0 or -ENOMEM. */
int compare_note_doubts(struct comparison *comparison);
