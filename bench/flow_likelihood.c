/*
 * bench-flow-likelihood - what executions of blocks cost by maximum likelihood: the sparse
 * solver's parts by the number of nodes, and whole procedures by their blocks.
 * Random structured procedures with events drawn from their flow; the best of
 * several rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/flow_likelihood.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/allocated.h"
#include "support/poisson.h"
#include "support/random_flow.h"

#define ROUNDS 7

static void must(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-flow-likelihood: %s\n", strerror(-ret));
	exit(1);
}

/* Lowers *best to what passed since `begin_ns`, and begins anew. */
static void lap(uint64_t *begin_ns, double *best_ns)
{
	uint64_t now = clock_monotonic_ns();
	*best_ns = fmin(*best_ns, (double)(now - *begin_ns));
	*begin_ns = clock_monotonic_ns();
}

static void time_solver(uint32_t blocks)
{
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(blocks);
	struct random_flow flow;
	random_flow_init(&flow, &random, blocks, 1, 20);
	uint32_t nodes = 2 * flow.graph.block_count;
	size_t count = flow.graph.block_count + flow.graph.edge_count;
	CLEANUP(free_pointer) struct sparse_edge *edges = allocated(count, sizeof(*edges));
	CLEANUP(free_pointer) double *weights = allocated(count, sizeof(*weights));
	CLEANUP(free_pointer) double *by_edge = allocated(count, sizeof(*by_edge));
	CLEANUP(free_pointer) double *by_node = allocated(nodes, sizeof(*by_node));
	for (size_t i = 0; i < count; i++) {
		edges[i] = (struct sparse_edge){ 2 * (uint32_t)i, 2 * (uint32_t)i + 1 };
		if (i >= flow.graph.block_count) {
			const struct flow_edge *edge = &flow.graph.edges[i - nodes / 2];
			edges[i].a =
				edge->from == FLOW_OUTSIDE ? SPARSE_GROUND : 2 * edge->from + 1;
			edges[i].b = edge->to == FLOW_OUTSIDE ? SPARSE_GROUND : 2 * edge->to;
		}
		weights[i] = 0.1 + random_unit(&random);
	}
	double analyse = INFINITY, factor = INFINITY, solve = INFINITY, resist = INFINITY;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_monotonic_ns();
		must(sparse_ldl_analyse(&ldl, nodes, edges, count));
		lap(&begin, &analyse);
		must(sparse_ldl_factor(&ldl, weights));
		lap(&begin, &factor);
		sparse_ldl_differences(&ldl, by_node, by_edge);
		lap(&begin, &solve);
		sparse_ldl_resistances(&ldl, by_edge, NULL);
		lap(&begin, &resist);
	}
	printf("%7u nodes %7zu entries; ns a node: order %4.0f, factor %4.0f, differences %4.0f, "
	       "resistances %4.0f\n",
	       nodes, ldl.entry_count, analyse / nodes, factor / nodes, solve / nodes,
	       resist / nodes);
	random_flow_release(&flow);
}

static void time_likelihood(uint32_t blocks)
{
	static const struct flow_likelihood_options options = FLOW_LIKELIHOOD_DEFAULTS;
	CLEANUP(flow_likelihood_release) struct flow_likelihood work = { 0 };
	struct random_state random = random_seed(blocks);
	struct random_flow flow;
	random_flow_init(&flow, &random, blocks, 1, 20);
	uint32_t count = flow.graph.block_count;
	CLEANUP(free_pointer) double *events = allocated(count, sizeof(*events));
	CLEANUP(free_pointer) double *costs = allocated(count, sizeof(*costs));
	double sum = 0, best = INFINITY;
	for (uint32_t b = 0; b < count; b++) {
		costs[b] = 1 + (double)random_below(&random, 12);
		sum += costs[b] * flow.blocks[b];
	}
	for (uint32_t b = 0; b < count; b++)
		events[b] = (double)poisson(&random, 1e5 * costs[b] * flow.blocks[b] / sum);
	struct flow_likelihood_result result = { 0 };
	unsigned repeats = 20000 / blocks + 1;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_monotonic_ns();
		for (unsigned i = 0; i < repeats; i++)
			must(flow_likelihood_solve(&work, &flow.graph, events, costs, &options,
						   &result));
		lap(&begin, &best);
	}
	printf("%7u blocks: %.0f blocks/s, %u steps%s\n", count, 1e9 * count * repeats / best,
	       result.steps, result.converged ? "" : ", not converged");
	random_flow_release(&flow);
}

int main(void)
{
	static const uint32_t of_solver[] = { 500, 2000, 8000, 32000 };
	static const uint32_t of_likelihood[] = { 10, 100, 1000, 10000, 50000 };
	for (size_t i = 0; i < COUNT_OF(of_solver); i++)
		time_solver(of_solver[i]);
	for (size_t i = 0; i < COUNT_OF(of_likelihood); i++)
		time_likelihood(of_likelihood[i]);
	return 0;
}
