/*
 * region_tally - what one thread measured of one region: of each quantity the sum, the extremes and
 * a histogram. Written by that thread alone, without a lock; read by any thread.
 *
 * Readers see the sum, the extremes and the number of one and the same moment: the writer makes
 * `sequence` odd while it writes, and what a reader got while it was odd or changed is read again.
 * Every field is atomic, what is written between is released and what is read between is acquired,
 * so that no fence is needed (Boehm, "Can seqlocks get along with programming language memory
 * models?", MSPC 2012). The histogram is read by itself, since a reader of a thousand words
 * would hardly ever find a busy writer still.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "count/histogram.h"

/* What begin and end themselves add, in whole units: to a value, and to one that they lie within.
 */
struct region_price {
	uint64_t own, inner;
};

/* Of one quantity, in ticks or events. Values have the price subtracted and are 0 when it is more.
 */
struct region_tally {
	_Atomic uint64_t absent; /* times it could not be measured */
	_Atomic uint64_t total;	 /* of all times, nothing subtracted */
	_Atomic uint64_t inner;	 /* begins and ends of inner regions that are in the total */
	_Atomic uint64_t min, max;
	_Atomic uint64_t flags; /* of enum culprit_value_flags, of any time */
	_Atomic uint64_t buckets[HISTOGRAM_BUCKETS];
};

struct region_cells {
	_Atomic uint64_t sequence;   /* twice the times that the region ended; odd: being written */
	_Atomic uint64_t mismatched; /* these two may be written by a signal handler in between */
	_Atomic uint64_t omitted;
	struct region_tally tallies[]; /* time first, then the events */
};

/* The fields of a tally at one moment. */
struct tally_head {
	uint64_t count, absent, total, inner, min, max, flags;
};

/* NULL without memory. Its pages are there, so that the first use takes no longer than others. */
struct region_cells *region_cells_new(size_t quantities);
void region_cells_free(struct region_cells *cells); /* NULL: nothing */

void tally_read(const struct region_cells *cells, size_t quantity, struct tally_head *head);

static inline void tally_set(_Atomic uint64_t *field, uint64_t value)
{
	atomic_store_explicit(field, value, memory_order_release);
}

static inline uint64_t tally_get(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void tally_raise(_Atomic uint64_t *field, uint64_t by)
{
	tally_set(field, tally_get(field) + by);
}

/* Begins to write what a region came to; returns what region_cells_end() takes. */
static inline uint64_t region_cells_begin(struct region_cells *cells)
{
	uint64_t sequence = tally_get(&cells->sequence);
	atomic_store_explicit(&cells->sequence, sequence + 1, memory_order_relaxed);
	return sequence;
}

static inline void region_cells_end(struct region_cells *cells, uint64_t sequence)
{
	tally_set(&cells->sequence, sequence + 2);
}

/* Between the two each tally is given a value or missed. */
static inline void tally_add(struct region_tally *tally, uint64_t measured, uint64_t inner,
			     const struct region_price *price)
{
	uint64_t cost = price->own + inner * price->inner;
	/* no branch: of short regions nobody could predict it */
	uint64_t value = (measured - cost) & -(uint64_t)(measured > cost);
	tally_raise(&tally->total, measured);
	if (inner)
		tally_raise(&tally->inner, inner);
	if (__builtin_expect(value < tally_get(&tally->min), 0))
		tally_set(&tally->min, value);
	if (__builtin_expect(value > tally_get(&tally->max), 0))
		tally_set(&tally->max, value);
	tally_raise(&tally->buckets[histogram_bucket(value)], 1);
}

static inline void tally_miss(struct region_tally *tally)
{
	tally_raise(&tally->absent, 1);
}

static inline void tally_flag(struct region_tally *tally, uint32_t flags)
{
	if (flags & ~tally_get(&tally->flags))
		tally_set(&tally->flags, tally_get(&tally->flags) | flags);
}
