/*
 * perf_data_units - the unit that a file gives an event, and what one count is in
 * it: 2.3e-10 Joules, 1e-6 msec. Estimates of a profile are whole numbers in steps
 * of 10^-decimals, so a count is multiplied by factor / 10^digits; a power of ten
 * costs nothing, for then both are 1. Plain values, nothing to free.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct cell;

struct perf_unit {
	struct span name; /* empty: not known */
	uint64_t factor;
	uint32_t digits;   /* of 10^digits, by which the product is divided */
	uint32_t decimals; /* of the estimates that come out */
};

/*
 * The unit of counts that are `scale` of `name` each (scale 0: not known, so 1).
 * Units of time become ns. False when the scale is no number that can be, and
 * *unit is then that of counts as they are, without a name.
 */
bool perf_unit_of(struct span name, double scale, struct perf_unit *unit);

/* A sum of counts in steps of the unit, rounded down; UINT64_MAX past 64 bits. */
uint64_t perf_unit_sum(const struct perf_unit *unit, uint64_t counts);

/*
 * Brings one of many cells into the unit; `before` is the sum of the counts of
 * those before it, and grows. What rounding takes from one is given to the next, so
 * that all together are perf_unit_sum() of the whole.
 */
struct cell perf_unit_cell(const struct perf_unit *unit, const struct cell *cell, uint64_t *before);
