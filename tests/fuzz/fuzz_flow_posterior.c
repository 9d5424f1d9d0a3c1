/*
 * A graph, samples and branches made of bytes: whatever they are, flow is conserved, nothing is
 * negative, and evaluations are bounded. The first byte is the number of blocks, the next ones are
 * their samples, then three bytes are an edge and how often it was seen.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "base/cleanup.h"

#define BLOCKS_MOST 31
#define EDGES_MOST  128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* 0, or one of 15 powers up to about 1e9 */
static double amount_of(uint8_t byte)
{
	return byte < 16 ? 0 : pow(4, byte >> 4);
}

static void flow_along(const struct flow_edge *edge, double flow, double *in, double *out)
{
	require(flow >= 0 && isfinite(flow));
	if (edge->from != FLOW_OUTSIDE)
		out[edge->from] += flow;
	if (edge->to != FLOW_OUTSIDE)
		in[edge->to] += flow;
}

static void check(const struct flow_graph *graph, const struct flow_likelihood_result *likely,
		  const struct flow_posterior_result *result)
{
	double in[BLOCKS_MOST] = { 0 }, out[BLOCKS_MOST] = { 0 };
	for (size_t i = 0; i < graph->edge_count; i++)
		flow_along(&graph->edges[i], result->edge_executions[i], in, out);
	for (size_t i = 0; i < likely->made_up_count; i++)
		flow_along(&likely->made_up[i], result->made_up_executions[i], in, out);
	for (uint32_t block = 0; block < graph->block_count; block++) {
		double executions = result->block_executions[block];
		require(executions > 0 && isfinite(executions));
		require(fabs(in[block] - executions) <= 1e-9 * executions);
		require(fabs(out[block] - executions) <= 1e-9 * executions);
	}
}

static void solve(const struct flow_graph *graph, const double *events, const double *costs,
		  const double *evidence)
{
	static const struct flow_likelihood_options of_likelihood = FLOW_LIKELIHOOD_DEFAULTS;
	static const struct flow_posterior_options of_posterior = FLOW_POSTERIOR_DEFAULTS;
	CLEANUP(flow_likelihood_release) struct flow_likelihood likelihood = { 0 };
	CLEANUP(flow_posterior_release) struct flow_posterior posterior = { 0 };
	struct flow_likelihood_result likely;
	struct flow_posterior_result result;
	if (flow_likelihood_solve(&likelihood, graph, events, costs, &of_likelihood, &likely) < 0)
		return;
	int ret = flow_posterior_solve(&posterior, graph, events, costs, evidence, &likely,
				       &of_posterior, &result);
	require(ret == 0 || ret == -ENOMEM || ret == -EDOM || ret == -ENODATA);
	if (ret < 0)
		return;
	require(result.evaluations <= of_posterior.most_evaluations);
	check(graph, &likely, &result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	double events[BLOCKS_MOST + 1] = { 0 }, costs[BLOCKS_MOST + 1], evidence[EDGES_MOST * 2];
	uint32_t blocks = data[0] % (BLOCKS_MOST + 1);
	size_t at = 1;
	flow_graph_init(&graph, blocks);
	for (uint32_t block = 0; block <= blocks; block++) {
		uint8_t byte = at < size ? data[at++] : 0;
		events[block] = amount_of(byte);
		costs[block] = byte & 8 ? NAN : 1 + (byte & 7);
	}
	size_t seen_at = at + 2;
	for (size_t edges = 0; at + 2 < size && edges < EDGES_MOST; at += 3, edges++) {
		uint32_t from = data[at] % (blocks + 1), to = data[at + 1] % (blocks + 1);
		if (from == blocks && to == blocks)
			continue;
		if (flow_graph_add(&graph, from == blocks ? FLOW_OUTSIDE : from,
				   to == blocks ? FLOW_OUTSIDE : to, FLOW_BRANCH) < 0)
			return 0;
	}
	if (flow_graph_settle(&graph) < 0)
		return 0;
	for (size_t i = 0; i < graph.edge_count; i++, seen_at += 3)
		evidence[i] = amount_of(seen_at < size ? data[seen_at] : 0);
	solve(&graph, events, costs, evidence);
	return 0;
}
