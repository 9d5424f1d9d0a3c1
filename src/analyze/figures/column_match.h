/*
 * column_match - which events of two profiles are the same one.
 */
#pragma once

#include <stddef.h>

#include "analyze/figures/event_column.h"

struct error;

struct column_match {
	size_t before, after; /* columns of each side */
};

/*
 * Stores at most min(before->count, after->count) pairs in `matches`, by
 * column of `before`: equal names first, then those that differ in what they
 * exclude or how they are written; the only event of one side goes with the only
 * one of the other in any case. *count is how many. Returns 0 or -ENOMEM.
 */
int column_match(const struct event_columns *before, const struct event_columns *after,
		 struct column_match *matches, size_t *count);
/* The number of decimals that cells of both columns can be counted in without loss. */
uint64_t column_match_scale(const struct event_column *before, const struct event_column *after);
/* The cell of a column of so many decimals, counted in `scale` of them; saturates. */
struct cell column_match_cell(const struct cell *cell, uint64_t decimals, uint64_t scale);
/* A whole of an event of that name, scaled so: 0, or -EOVERFLOW with *err where it saturated. */
int column_match_check(const struct cell *whole, struct span name, struct error *err);
