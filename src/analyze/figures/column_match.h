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
 * Stores at most min(before->count, after->count) pairs in `matches`, in the order of
 * `before`, and how many in *count. A column is in one pair at most: with one of the same name
 * and scope (user, kernel), else of the same name without PMU and modifiers, else of the same
 * PMU, type and config. The only column of one side is matched with the only one of the other in
 * any case. Returns 0 or -ENOMEM.
 */
int column_match(const struct event_columns *before, const struct event_columns *after,
		 struct column_match *matches, size_t *count);
/* The decimals (powers of ten, event_column.scale) that cells of both columns can be counted in
 * without loss. */
uint64_t column_match_scale(const struct event_column *before, const struct event_column *after);
/* A cell of a column with `decimals` decimals, counted in `scale` of them; saturates. */
struct cell column_match_cell(const struct cell *cell, uint64_t decimals, uint64_t scale);
/* Checks an event's whole that column_match_cell() gave: 0, or -EOVERFLOW with *err where it
 * saturated. */
int column_match_check(const struct cell *whole, struct span name, struct error *err);
