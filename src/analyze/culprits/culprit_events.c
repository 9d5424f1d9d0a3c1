/*
 * Bounds of how often something went wrong at one instruction, by the events that count it: what
 * was counted there, or behind it as far as the event's addresses may be late, and as much more
 * as chance may have hidden.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/culprits/culprits_private.h"
#include "analyze/cycles/cycles_private.h"
#include "analyze/figures/interval.h"
#include "base/cleanup.h"

/* Addresses that the hardware does not vouch for are late by so many instructions at most. */
#define LATE_LIMIT 16

struct culprit_name {
	const char *name;
	enum culprit_event event;
};

/* The first name of an event that a profile has is used: callgrind's, the kernel's generic names,
 * those of makers. */
static const struct culprit_name names[] = {
	{ "I1mr", CULPRIT_L1I_MISSES },
	{ "L1-icache-load-misses", CULPRIT_L1I_MISSES },
	{ "l1i_cache_refill", CULPRIT_L1I_MISSES },
	{ "icache_64b.iftag_miss", CULPRIT_L1I_MISSES },
	{ "ILmr", CULPRIT_FETCH_MISSES },
	{ "iTLB-load-misses", CULPRIT_ITLB_MISSES },
	{ "l1i_tlb_refill", CULPRIT_ITLB_MISSES },
	{ "itlb_misses.walk_completed", CULPRIT_ITLB_MISSES },
	{ "D1mr", CULPRIT_L1D_MISSES },
	{ "L1-dcache-load-misses", CULPRIT_L1D_MISSES },
	{ "l1d_cache_refill", CULPRIT_L1D_MISSES },
	{ "mem_load_retired.l1_miss", CULPRIT_L1D_MISSES },
	{ "DLmr", CULPRIT_LOAD_MISSES },
	{ "LLC-load-misses", CULPRIT_LOAD_MISSES },
	{ "mem_load_retired.l3_miss", CULPRIT_LOAD_MISSES },
	{ "ll_cache_miss_rd", CULPRIT_LOAD_MISSES },
	{ "cache-misses", CULPRIT_LOAD_MISSES },
	{ "D1mw", CULPRIT_STORE_L1_MISSES },
	{ "L1-dcache-store-misses", CULPRIT_STORE_L1_MISSES },
	{ "DLmw", CULPRIT_STORE_MISSES },
	{ "LLC-store-misses", CULPRIT_STORE_MISSES },
	{ "dTLB-load-misses", CULPRIT_DTLB_MISSES },
	{ "l1d_tlb_refill", CULPRIT_DTLB_MISSES },
	{ "dtlb_load_misses.walk_completed", CULPRIT_DTLB_MISSES },
	{ "branch-misses", CULPRIT_MISPREDICTS },
	{ "Bcm", CULPRIT_MISPREDICTS },
	{ "br_mis_pred_retired", CULPRIT_MISPREDICTS },
	{ "br_misp_retired.all_branches", CULPRIT_MISPREDICTS },
	{ "Bim", CULPRIT_INDIRECT_MISPREDICTS },
};

struct culprit_events culprit_events_of(const struct event_columns *columns)
{
	struct culprit_events events;
	for (size_t e = 0; e < CULPRIT_EVENTS; e++)
		events.column[e] = CYCLES_NO_COLUMN;
	for (size_t n = sizeof(names) / sizeof(names[0]); n-- > 0;)
		for (size_t c = columns->count; c-- > 0;)
			if (span_equal(event_base_name(columns->list[c].name),
				       span_of_text(names[n].name)))
				events.column[names[n].event] = c;
	return events;
}

/* By how many instructions the address may lie behind the one to blame. */
static unsigned lateness(const struct event_column *column)
{
	if (column->skid)
		return column->skid - 1 < LATE_LIMIT ? (unsigned)(column->skid - 1) : LATE_LIMIT;
	return !column->sampled || column->precise >= 2 ? 0 : LATE_LIMIT;
}

/* The most events that may have happened, 97.5 % sure, with samples of `weight` events each. */
static double most_of(double events, double weight)
{
	return interval_count_high(events / weight) * weight;
}

/*
 * Events that a sample stands for: on average in the procedure; without samples there the period
 * that was requested, or where a frequency was, on average in the profile. NaN: not known.
 */
static double weight_of(const struct procedure_cycles *procedure,
			const struct event_columns *columns, size_t column,
			const struct cycles_samples *counted)
{
	const struct event_column *at = &columns->list[column];
	double divisor = event_column_divisor(at);
	if (counted->sample_sum > 0)
		return counted->event_sum / counted->sample_sum;
	if ((at->policy == PERIOD_FIXED || at->policy == PERIOD_RANDOM) && at->period_most)
		return (double)at->period_most / divisor;
	const struct cell *whole = &cycles_index(procedure->cycles)->whole[column];
	return whole->samples ? (double)whole->estimate / divisor / (double)whole->samples : NAN;
}

/*
 * Fills `most`: sums over each instruction and those behind it that its events may show at. For
 * samples, of `weight` events each, with what chance may have hidden.
 */
static void widen(const struct event_column *column, const struct cycles_samples *counted,
		  double weight, uint32_t count, double *most)
{
	unsigned late = lateness(column);
	double sum = 0;
	for (uint32_t i = count; i-- > 0;) {
		sum += counted->events[i];
		if ((uint64_t)i + late + 1 < count)
			sum -= counted->events[i + late + 1];
		most[i] = sum > 0 ? sum : 0;
		if (column->sampled)
			most[i] = most_of(most[i], weight);
	}
}

int culprit_bounds_init(struct culprit_bounds *bounds, const struct procedure_cycles *procedure,
			const struct event_columns *columns, const struct culprit_events *events)
{
	uint32_t count = procedure->cfg.instruction_count;
	*bounds = (struct culprit_bounds){ { 0 } };
	for (size_t e = 0; events && e < CULPRIT_EVENTS; e++) {
		CLEANUP(cycles_samples_release) struct cycles_samples counted = { 0 };
		size_t column = events->column[e];
		if (column == CYCLES_NO_COLUMN)
			continue;
		if (cycles_samples_of(procedure, columns, column, &counted) < 0)
			return -ENOMEM;
		bool sampled = columns->list[column].sampled;
		double weight = sampled ? weight_of(procedure, columns, column, &counted) : 0;
		if (sampled && !(weight > 0))
			continue; /* no samples, behind which may be any number of events */
		bounds->most[e] = calloc((size_t)count + 1, sizeof(double));
		if (!bounds->most[e])
			return -ENOMEM;
		widen(&columns->list[column], &counted, weight, count, bounds->most[e]);
	}
	return 0;
}

void culprit_bounds_release(struct culprit_bounds *bounds)
{
	for (size_t e = 0; e < CULPRIT_EVENTS; e++)
		free(bounds->most[e]);
	*bounds = (struct culprit_bounds){ { 0 } };
}
