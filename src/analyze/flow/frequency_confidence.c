/*
 * How far off the fit may be, and so the interval and confidence of each of its values.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/figures/count_test.h"
#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency_private.h"
#include "base/cleanup.h"

/* By how much the events of blocks differ from the fit before any was compared (relative), and the
 * number of blocks that this assumption counts as. */
#define DIFFER_RATIO  0.02
#define DIFFER_BLOCKS 3.0
/* Expected samples above which a block counts no more in that comparison. */
#define DIFFER_SAMPLES 1000.0

/* Expected samples from which on a stall would show; before any instruction is looked at, so many
 * count as looked at and this share of them as stalled. */
#define STALL_SAMPLES 10.0
#define UNSEEN_STALLS 3.0
#define UNSEEN_RATIO  0.3
/* An interval grows by that many times its length, down and up, if all instructions stall; by less
 * in proportion. */
#define STALLED_BELOW 4.0
#define STALLED_ABOVE 2.0

#define AGREE_RATIO  0.1
#define HIGH_SAMPLES 400.0
#define HIGH_WIDTH   0.1  /* of half the interval, without what stalls add to it */
#define HIGH_DOUBT   0.15 /* of the same with what points of a class differ by */
#define MEDIUM_WIDTH 0.12 /* of the interval, up and down */

/* How far the events of blocks are from those that the fit expects, beyond chance: work->differ. */
static void find_differ(struct frequency_work *work)
{
	double squares = DIFFER_BLOCKS * DIFFER_SAMPLES * DIFFER_RATIO * DIFFER_RATIO;
	double weights = DIFFER_BLOCKS * DIFFER_SAMPLES;
	for (uint32_t block = 0; work->fit.converged && block < work->graph->block_count; block++) {
		double expected = work->fit_costs[block] * work->fit.block_executions[block];
		double error = work->fit.block_relative_error[block];
		if (isnan(expected) || expected < 1)
			continue;
		double weight = fmin(expected, DIFFER_SAMPLES);
		double off = work->fit_events[block] / expected - 1;
		double free = fmax(
			0,
			1 - expected * error *
					error); /* how little it follows the block's own events */
		squares += weight * (off * off - free / expected);
		weights += weight * free;
	}
	work->differ = fmax(0, squares / weights);
}

/* The share of instructions that stall, among those with enough samples to show it. */
static void find_stalled(struct frequency_work *work)
{
	const struct frequency_input *input = work->input;
	double seen = UNSEEN_STALLS, stalled = UNSEEN_RATIO * UNSEEN_STALLS;
	for (uint32_t block = 0; work->fit.converged && block < work->graph->block_count; block++) {
		struct flow_range range = input->blocks[block];
		double executions = work->fit.block_executions[block];
		for (uint32_t i = range.first; i < range.end; i++) {
			if (input->issue_cycles[i] * executions < STALL_SAMPLES)
				continue;
			seen++;
			stalled += !work->unstalled[i];
		}
	}
	work->stalled_ratio = stalled / seen;
}

/*
 * By how much the points of a class differ beyond chance, as a relative variance. A single point
 * may stall as much as a sum may, and nothing else in its class shows it. 0 for a sum: its stalls
 * show in the conservation of flow.
 */
static double spread_of(const struct frequency_own *own)
{
	if (own->source != FREQUENCY_CLUSTER)
		return 0;
	if (own->points < 2)
		return STALLED_RATIO * STALLED_RATIO;
	double error = own->error / own->value;
	return fmax(0, error * error - 1 / fmax(own->samples, 1));
}

/* The same for a block, in the part in which the fit follows the block's own events. */
static double own_spread(const struct frequency_work *work, uint32_t block)
{
	double expected = work->fit_costs[block] * work->fit.block_executions[block];
	double error = work->fit.block_relative_error[block];
	if (!(expected > 0))
		return 0;
	return fmin(1, expected * error * error) * spread_of(frequency_own_of(work, block));
}

/*
 * Errors of values if each class is known no better than its points agree: those of a second fit,
 * in which a class has that many fewer events. So the doubt about a class carries over to all
 * blocks whose values depend on it.
 */
static int find_doubt(struct frequency_work *work)
{
	uint32_t blocks = work->graph->block_count;
	CLEANUP(free_pointer)
	double *events = calloc(2 * (size_t)blocks + 1, sizeof(*events));
	if (!events)
		return -ENOMEM;
	double *costs = events + blocks;
	for (uint32_t block = 0; block < blocks; block++)
		frequency_own_of(work, block)->events += work->fit_events[block];
	for (uint32_t block = 0; block < blocks; block++) {
		const struct frequency_own *own = frequency_own_of(work, block);
		double part = 1 / (1 + own->events * spread_of(own));
		events[block] = part * work->fit_events[block];
		costs[block] = part * work->fit_costs[block];
	}
	const struct flow_likelihood_options options = frequency_by_samples(work);
	int ret = flow_likelihood_solve(&work->doubting, work->graph, events, costs, &options,
					&work->doubt);
	if (ret < 0)
		work->doubt = (struct flow_likelihood_result){ .converged = false };
	return ret == -ENOMEM ? ret : 0;
}

/* The larger of an error and the one that find_doubt() found; INFINITY if it found none. */
static double doubted(const struct frequency_work *work, double error, const double *relative_error,
		      size_t i)
{
	if (work->input->model != FREQUENCY_CYCLES_IN_ORDER)
		return error;
	if (!work->doubt.converged)
		return INFINITY;
	return fmax(error, sqrt(relative_error[i] * relative_error[i] + work->differ));
}

static bool agree(double a, double b)
{
	return fabs(a - b) <= AGREE_RATIO * b;
}

/*
 * 95 % on the scale of square roots, on which the variance of counts does not depend on them. Where
 * many instructions stall, some stall too little to be seen, so values are mostly too high.
 */
static void set_interval(const struct frequency_work *work, struct frequency *out,
			 double relative_error)
{
	double low = 0.98 * (1 + STALLED_BELOW * work->stalled_ratio);
	double high = 0.98 * (1 + STALLED_ABOVE * work->stalled_ratio);
	double below = fmax(0, 1 - low * relative_error), above = 1 + high * relative_error;
	out->low = out->value * below * below;
	out->high = out->value * above * above;
}

/* Values that are marked medium are seldom off by more than 15 %: docs/methods.md, "Frequencies".
 */
static bool is_narrow(const struct frequency *frequency, double width)
{
	double value = frequency->value;
	return frequency->low >= (1 - width) * value && frequency->high <= (1 + width) * value;
}

/* By the class's own samples: there is no fit, or the graph misses edges, so flow is not conserved.
 */
static struct frequency alone(const struct frequency_own *own)
{
	struct frequency out = { NAN, NAN, NAN, FREQUENCY_UNKNOWN, FREQUENCY_LOW };
	if (isnan(own->value))
		return out;
	out = (struct frequency){ .value = own->value,
				  .low = fmax(0, own->value - COUNT_TEST_Z_95 * own->error),
				  .high = own->value + COUNT_TEST_Z_95 * own->error,
				  .source = own->source };
	if (own->source == FREQUENCY_CLUSTER && is_narrow(&out, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

/* The same out of order, where nothing tells how far off that is. */
static struct frequency alone_relative(const struct frequency_own *own)
{
	struct frequency out = alone(own);
	out.low = out.high = NAN;
	return out;
}

struct frequency frequency_of_block(const struct frequency_work *work, uint32_t block)
{
	const struct frequency_own *own = frequency_own_of(work, block);
	bool in_order = work->input->model == FREQUENCY_CYCLES_IN_ORDER;
	if (!work->fit.converged || (work->graph->missing_edges && !isnan(own->value)))
		return frequency_is_relative(work) ? alone_relative(own) : alone(own);
	struct frequency out = { .value = work->fit.block_executions[block] };
	if (frequency_is_relative(work)) {
		out.source = work->source;
		frequency_set_relative_block(work, &out, block);
		return out;
	}
	double error = work->fit.block_relative_error[block];
	error = sqrt(error * error + work->differ);
	set_interval(work, &out, error);
	struct frequency wider = out; /* for the confidence alone */
	double own_error = in_order ? sqrt(error * error + own_spread(work, block)) : error;
	double doubt = doubted(work, own_error, work->doubt.block_relative_error, block);
	set_interval(work, &wider, doubt);
	bool they_agree = agree(out.value, own->value);
	out.source = !in_order ? work->source : they_agree ? own->source : FREQUENCY_PROPAGATED;
	if (they_agree && (!in_order || own->source == FREQUENCY_CLUSTER) &&
	    own->samples >= HIGH_SAMPLES && COUNT_TEST_Z_95 * error <= HIGH_WIDTH &&
	    COUNT_TEST_Z_95 * own_error <= HIGH_DOUBT)
		out.confidence = FREQUENCY_HIGH;
	else if (is_narrow(&wider, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

/* An edge in the class of a block has that block's frequency; the confidence of others is limited
 * by that of their ends. */
struct frequency frequency_of_edge(const struct frequency_work *work,
				   const struct frequency *blocks, size_t i)
{
	const struct flow_edge *edge = &work->graph->edges[i];
	uint32_t same = work->own[work->classes.of_edge[i]].block;
	if (same != FLOW_OUTSIDE)
		return blocks[same];
	struct frequency out = { NAN, NAN, NAN, FREQUENCY_UNKNOWN, FREQUENCY_LOW };
	if (!work->fit.converged)
		return out;
	double error = work->fit.edge_relative_error[i];
	error = sqrt(error * error + work->differ);
	out.value = work->fit.edge_executions[i];
	out.source = work->source == FREQUENCY_COUNTED && edge->from != FLOW_OUTSIDE
			     ? FREQUENCY_COUNTED
			     : FREQUENCY_PROPAGATED;
	if (frequency_is_relative(work)) {
		frequency_set_relative_edge(work, &out, i);
		return out;
	}
	set_interval(work, &out, error);
	struct frequency wider = out;
	set_interval(work, &wider, doubted(work, error, work->doubt.edge_relative_error, i));
	enum frequency_confidence ends = FREQUENCY_HIGH;
	if (edge->from != FLOW_OUTSIDE && blocks[edge->from].confidence < ends)
		ends = blocks[edge->from].confidence;
	if (edge->to != FLOW_OUTSIDE && blocks[edge->to].confidence < ends)
		ends = blocks[edge->to].confidence;
	if (ends == FREQUENCY_HIGH && COUNT_TEST_Z_95 * error <= HIGH_WIDTH)
		out.confidence = FREQUENCY_HIGH;
	else if (ends >= FREQUENCY_MEDIUM && is_narrow(&wider, MEDIUM_WIDTH))
		out.confidence = FREQUENCY_MEDIUM;
	return out;
}

int frequency_find_errors(struct frequency_work *work)
{
	find_differ(work);
	if (frequency_is_relative(work))
		return frequency_find_distances(work);
	if (work->input->model != FREQUENCY_CYCLES_IN_ORDER)
		return 0;
	find_stalled(work);
	return find_doubt(work);
}
