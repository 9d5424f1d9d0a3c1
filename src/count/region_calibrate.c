/* What begin and end cost, measured by themselves: regions that nothing is in, and such regions
 * within others. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "count/region_private.h"

#define WARMING_TRIALS 20 /* find caches, branches and pages unused */

/* The id of these regions, which no others have: only they find the thread's stack meanwhile, and
 * in a signal handler that uses regions the thread has not joined yet. */
#define CALIBRATING UINT64_MAX

/* Numbers of the regions that are empty and that have an empty one in them. */
#define EMPTY CULPRIT_REGION_NAMES
#define OUTER (CULPRIT_REGION_NAMES + 1)

/* A reading of a clock is rounded down to a tick, so that the difference of two is wrong by a
 * triangular distribution from -1 to 1: of variance 1/6, and 95 of 100 lie within 1 - sqrt(0.05).
 */
#define ROUNDING_VARIANCE (1.0 / 6)
#define ROUNDING_SPREAD	  0.776

/* What one region of a thread measured last, trial by trial. */
struct trials {
	struct culprit_region region;
	const struct region_cells *cells;
	size_t quantities;
	uint64_t absent[REGION_QUANTITIES], totals[REGION_QUANTITIES]; /* before the trial */
	double *values; /* [quantity][REGION_TRIALS] */
	size_t kept[REGION_QUANTITIES];
};

static void free_trials(struct trials *trials)
{
	free(trials->values);
}

static int new_trials(struct trials *trials, const struct culprit_regions *regions,
		      struct region_stack *stack, uint32_t number)
{
	struct region_cells *cells = region_cells_new(1 + stack->events);
	*trials = (struct trials){
		.region = { .key = regions->key, .id = CALIBRATING, .number = number },
		.cells = cells,
		.quantities = 1 + stack->events,
		.values = calloc((1 + stack->events) * REGION_TRIALS, sizeof(double)),
	};
	/* the stack's from here on, also when there is no memory for the rest */
	atomic_store_explicit(&stack->cells[number], cells, memory_order_relaxed);
	return cells && trials->values ? 0 : -ENOMEM;
}

static void take_trial(struct trials *trials, bool keep)
{
	for (size_t i = 0; i < trials->quantities; i++) {
		uint64_t absent = tally_get(&trials->cells->tallies[i].absent);
		uint64_t total = tally_get(&trials->cells->tallies[i].total);
		if (keep && absent == trials->absent[i])
			trials->values[i * REGION_TRIALS + trials->kept[i]++] =
				(double)(total - trials->totals[i]);
		trials->absent[i] = absent;
		trials->totals[i] = total;
	}
}

static void run(struct trials *empty, struct trials *outer)
{
	for (int trial = -WARMING_TRIALS; trial < REGION_TRIALS; trial++) {
		take_trial(empty, false);
		culprit_region_begin(&empty->region);
		culprit_region_end(&empty->region);
		take_trial(empty, trial >= 0);
		culprit_region_begin(&outer->region);
		culprit_region_begin(&empty->region);
		culprit_region_end(&empty->region);
		culprit_region_end(&outer->region);
		take_trial(outer, trial >= 0);
	}
}

static void settle(struct region_stack *stack, struct trials *empty, struct trials *outer,
		   struct region_cost *costs)
{
	for (size_t i = 0; i <= stack->events; i++) {
		region_cost_of(empty->values + i * REGION_TRIALS, empty->kept[i],
			       outer->values + i * REGION_TRIALS, outer->kept[i], &costs[i]);
		if (costs[i].known)
			stack->prices[i] = (struct region_price){
				.own = (uint64_t)llround(costs[i].own_median),
				.inner = (uint64_t)llround(costs[i].inner_median),
			};
	}
	costs[0].own_spread = fmax(costs[0].own_spread, ROUNDING_SPREAD);
	costs[0].own_variance = fmax(costs[0].own_variance, ROUNDING_VARIANCE);
}

int region_calibrate(struct culprit_regions *regions, struct region_stack *stack,
		     struct region_cost *costs)
{
	CLEANUP(free_trials) struct trials empty = { 0 };
	CLEANUP(free_trials) struct trials outer = { 0 };
	int status = new_trials(&empty, regions, stack, EMPTY);
	if (status == 0)
		status = new_trials(&outer, regions, stack, OUTER);
	if (status == 0) {
		struct region_here before = region_here;
		region_here_set(CALIBRATING, stack);
		run(&empty, &outer);
		region_here_set(before.id, before.stack);
		settle(stack, &empty, &outer, costs);
	}
	for (size_t i = EMPTY; i < REGION_NUMBERS; i++) {
		region_cells_free(atomic_load_explicit(&stack->cells[i], memory_order_relaxed));
		atomic_store_explicit(&stack->cells[i], NULL, memory_order_relaxed);
	}
	return status;
}
