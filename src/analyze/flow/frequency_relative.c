/*
 * Out of order: how far off values are relative to that of the block with the most samples.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/figures/interval.h"
#include "analyze/flow/flow_distance.h"
#include "analyze/flow/flow_graph.h"
#include "analyze/flow/frequency_private.h"

/*
 * Of the logarithm of a value: the variance for a distance of 1 (flow_distance.h) from the block
 * with the most samples; the least and the most standard error; the widest half of an interval
 * whose confidence is medium. docs/methods.md, "Frequencies", out of order.
 */
#define DISTANCE_RATIO 16.0
#define LEAST_ERROR    0.04
#define MOST_ERROR     3.0
#define MEDIUM_LOG     0.25
static const struct relative_error {
	double own_error;  /* standard error of a block's cost, by its own samples */
	double half_width; /* of a 95 % interval, in standard errors */
} with_branches = { 0.3, 2.2 }, without_branches = { 0.5, 3 };

/* With few samples and branches no confidence is above FREQUENCY_LOW: which block has the most of
 * few samples is chance, and all distances are from that block. */
static bool are_too_few(const struct frequency_work *work)
{
	double seen = 0;
	for (uint32_t block = 0; block < work->graph->block_count; block++)
		seen += work->samples[block];
	for (size_t i = 0; work->source == FREQUENCY_POSTERIOR && i < work->graph->edge_count; i++)
		seen += work->input->evidence[i];
	return seen < INTERVAL_FEW_SAMPLES;
}

int frequency_find_distances(struct frequency_work *work)
{
	uint32_t most = 0;
	work->distances = calloc((size_t)work->graph->block_count + 1, sizeof(*work->distances));
	if (!work->distances)
		return -ENOMEM;
	work->too_few = are_too_few(work);
	if (!work->fit.converged || !work->graph->block_count)
		return 0;
	for (uint32_t block = 1; block < work->graph->block_count; block++)
		if (work->samples[block] > work->samples[most])
			most = block;
	return flow_distance_find(
		work->graph, work->fit.block_executions, work->fit.edge_executions,
		work->source == FREQUENCY_POSTERIOR ? work->input->evidence : NULL, most,
		work->distances);
}

static const struct relative_error *relative_error(const struct frequency_work *work)
{
	return work->source == FREQUENCY_POSTERIOR ? &with_branches : &without_branches;
}

/* Variance of the logarithm of a block's executions: by its distance and its own samples together.
 */
static double relative_variance(const struct frequency_work *work, uint32_t block)
{
	double own_error = relative_error(work)->own_error;
	double far = DISTANCE_RATIO * work->distances[block];
	if (work->samples[block] <= 0)
		return far;
	double own = own_error * own_error + 1 / work->samples[block];
	return isinf(far) ? own : far * own / (far + own);
}

/* The same for an edge, from the surer of its ends. */
static double relative_variance_of_edge(const struct frequency_work *work, size_t i)
{
	const struct flow_edge *edge = &work->graph->edges[i];
	double variance = INFINITY, x = work->fit.edge_executions[i];
	if (edge->from != FLOW_OUTSIDE) {
		struct flow_ends out = flow_graph_out_of(work->graph, edge->from);
		double seen = out.count < 2 ? INFINITY : 0;
		for (size_t k = 0; work->source == FREQUENCY_POSTERIOR && k < out.count; k++)
			seen += work->input->evidence[out.list[k]];
		double from = work->fit.block_executions[edge->from];
		variance = relative_variance(work, edge->from) +
			   DISTANCE_RATIO * flow_distance_of_edge(x, from, x, seen);
	}
	if (edge->to != FLOW_OUTSIDE) {
		double to = work->fit.block_executions[edge->to];
		variance = fmin(variance,
				relative_variance(work, edge->to) +
					DISTANCE_RATIO * flow_distance_of_edge(x, x, to, INFINITY));
	}
	return variance;
}

static void set_relative(const struct frequency_work *work, struct frequency *out, double variance)
{
	double half = relative_error(work)->half_width *
		      sqrt(LEAST_ERROR * LEAST_ERROR + fmin(variance, MOST_ERROR * MOST_ERROR));
	out->low = out->value * exp(-half);
	out->high = out->value * exp(half);
	out->confidence = !work->too_few && half <= MEDIUM_LOG ? FREQUENCY_MEDIUM : FREQUENCY_LOW;
}

void frequency_set_relative_block(const struct frequency_work *work, struct frequency *out,
				  uint32_t block)
{
	set_relative(work, out, relative_variance(work, block));
}

void frequency_set_relative_edge(const struct frequency_work *work, struct frequency *out, size_t i)
{
	set_relative(work, out, relative_variance_of_edge(work, i));
}
