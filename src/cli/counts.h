/*
 * counts - the value of --counts, which commands that compare have.
 */
#pragma once

#include "analyze/difference.h"

struct verb;

/* Sets *counts from "samples" or "exact"; NULL is neither. -1, or the exit status after a message.
 */
int counts_choose(const struct verb *verb, const char *text, enum difference_counts *counts);
