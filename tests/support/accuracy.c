#include "support/accuracy.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_search.h"
#include "analyze/flow/schedule.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "support/allocated.h"

/* Schedules as culprit does: each block as if nothing were under way before it. */
static void schedule(const struct exact_procedure *exact, const struct pipeline *pipeline,
		     double *issue_cycles, uint32_t *waits_for)
{
	CLEANUP(free_pointer)
	struct scheduled *scheduled = allocated(exact->instruction_count, sizeof(*scheduled));
	for (uint32_t block = 0; block < exact->graph.block_count; block++) {
		struct flow_range range = exact->blocks[block];
		schedule_block(pipeline, exact->effects + range.first, range.end - range.first,
			       NULL, scheduled, NULL, NULL);
		for (uint32_t i = range.first; i < range.end; i++) {
			const struct scheduled *at = &scheduled[i - range.first];
			bool waits = (at->wait == SCHEDULE_OPERAND || at->wait == SCHEDULE_UNIT) &&
				     at->wait_for != SCHEDULE_BEFORE;
			issue_cycles[i] = at->head_cycles;
			waits_for[i] = waits ? range.first + at->wait_for : FLOW_WAITS_FOR_NOTHING;
		}
	}
}

static void put_block(struct accuracy *accuracy, const struct frequency *found, double truth,
		      double weight)
{
	static const double limits[] = { 0.05, 0.1, 0.15 };
	double off = fabs(found->value / truth - 1);
	accuracy->samples += weight;
	accuracy->graded[found->confidence] += weight;
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		accuracy->within[i] += off <= limits[i] ? weight : 0;
	if (off <= 0.1)
		accuracy->graded_right[found->confidence] += weight;
	if (!(off <= 0.15)) { /* NaN: not known */
		accuracy->wrong += weight;
		accuracy->wrong_low += found->confidence == FREQUENCY_LOW ? weight : 0;
	}
}

static void put_interval(struct accuracy *accuracy, const struct frequency *found, double truth)
{
	if (isnan(found->low) || isnan(found->high))
		return;
	double width = found->value > 0 ? (found->high - found->low) / 2 / found->value : 1;
	accuracy->classes[found->confidence]++;
	accuracy->held[found->confidence] += found->low <= truth && truth <= found->high;
	accuracy->widths[found->confidence] += fmin(width, 1);
}

static void compare(struct accuracy *accuracy, const struct simulated_procedure *procedure,
		    const struct frequencies *found, bool by_cycles, double period)
{
	const struct exact_procedure *exact = procedure->exact;
	CLEANUP(flow_search_release) struct flow_search search = { 0 };
	CLEANUP(flow_classes_release) struct flow_classes classes = { 0 };
	if (flow_search_run(&exact->graph, &search) < 0 ||
	    flow_classes_find(&exact->graph, &search, &classes) < 0)
		abort();
	CLEANUP(free_pointer) bool *seen = allocated(classes.count, sizeof(*seen));
	for (uint32_t block = 0; block < exact->graph.block_count; block++) {
		struct flow_range range = exact->blocks[block];
		double truth = exact->block_executions[block] / period, samples = 0, weight = 0;
		for (uint32_t i = range.first; i < range.end; i++) {
			samples += procedure->samples[i];
			weight += by_cycles ? procedure->samples[i] : procedure->costs[i].cycles;
		}
		if (truth > 0 && weight > 0)
			put_block(accuracy, &found->blocks[block], truth, weight);
		uint32_t class = classes.of_block[block];
		if (samples > 0 && !seen[class])
			put_interval(accuracy, &found->blocks[block], truth);
		seen[class] |= samples > 0;
	}
	for (size_t i = 0; i < exact->graph.edge_count; i++) {
		double truth = exact->edge_executions[i] / period;
		accuracy->edges += truth;
		if (truth > 0 && fabs(found->edges[i].value / truth - 1) <= 0.1)
			accuracy->edges_within += truth;
	}
}

void accuracy_add(struct accuracy *accuracy, const struct simulated_program *program,
		  enum frequency_model model, const struct pipeline *pipeline, double period)
{
	for (uint32_t p = 0; p < program->count; p++) {
		const struct simulated_procedure *procedure = &program->procedures[p];
		const struct exact_procedure *exact = procedure->exact;
		size_t count = exact->instruction_count;
		CLEANUP(free_pointer) double *issue_cycles = allocated(count, sizeof(double));
		CLEANUP(free_pointer) uint32_t *waits_for = allocated(count, sizeof(uint32_t));
		schedule(exact, pipeline, issue_cycles, waits_for);
		struct frequency_input input = { .graph = &exact->graph,
						 .model = model,
						 .instruction_count = exact->instruction_count,
						 .blocks = exact->blocks,
						 .samples = procedure->samples,
						 .issue_cycles = issue_cycles,
						 .waits_for = waits_for };
		CLEANUP(frequencies_release) struct frequencies found = { 0 };
		if (frequencies_new(&input, &found) < 0)
			abort();
		compare(accuracy, procedure, &found, model != FREQUENCY_EXECUTIONS, period);
	}
}
