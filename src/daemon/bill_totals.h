/*
 * bill_totals - sums over the bill of one or more profiles (profile/bill.h), for those who watch a
 * recording.
 */
#pragma once

#include <stdint.h>

#include "profile/bill.h"

struct profile;

/* Samples are those of all events, without the ones that come apart with their stacks, unless it
 * says so. Times are in ns. */
struct bill_totals {
	uint64_t stored; /* in the cells */
	uint64_t apart_stored;
	uint64_t unknown; /* of `stored`: with an image that is unknown, for whatever cause */
	uint64_t lost_ring, lost_table, lost_damaged; /* samples apart included */
	uint64_t lost_skipped;	/* by the kernel, which did not hand them on */
	uint64_t lost_sideband; /* records about processes and mappings */
	uint64_t throttled;	/* times the kernel stopped an event; apart included */
	uint64_t self_cpu_ns, interrupt_ns;
	/* Of programs in the kernel: samples that were timed, and what they took
	 * (BILL_TIMED_HITS...). */
	uint64_t timed_hits, timed_hit_ns, timed_misses, timed_miss_ns, timed_stacks,
		timed_stack_ns;
	uint64_t ring_bytes;
	uint64_t online_ns, busy_ns; /* of all CPUs */
};

/* Adds what the bill of the profile says. */
void bill_totals_add(struct bill_totals *totals, const struct profile *profile);
void bill_totals_join(struct bill_totals *totals, const struct bill_totals *more);

/* What programs in the kernel took in all, the samples that were not timed as long as the others.
 */
static inline uint64_t bill_totals_kernel_ns(const struct bill_totals *totals)
{
	return BILL_TIMED_ONE_IN *
	       (totals->timed_hit_ns + totals->timed_miss_ns + totals->timed_stack_ns);
}

/* Samples that were lost because a buffer was full or damaged. */
static inline uint64_t bill_totals_lost(const struct bill_totals *totals)
{
	return totals->lost_ring + totals->lost_table + totals->lost_damaged;
}
