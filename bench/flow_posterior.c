/*
 * bench-flow-posterior [ROUNDS] - what executions of blocks cost by samples and branches, beside the
 * likelihood that it starts from, by the blocks of a procedure. Random structured procedures whose
 * blocks cost more or less than is said, with 100 outcomes seen of each branch or none; the best of
 * several rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/allocated.h"
#include "support/poisson.h"
#include "support/random_flow.h"

#define ROUNDS 5

static unsigned long rounds = ROUNDS;

static void must(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-flow-posterior: %s\n", strerror(-ret));
	exit(1);
}

/* Lowers *best to what passed since `begin_ns`, and begins anew. */
static void lap(uint64_t *begin_ns, double *best_ns)
{
	uint64_t now = clock_monotonic_ns();
	*best_ns = fmin(*best_ns, (double)(now - *begin_ns));
	*begin_ns = clock_monotonic_ns();
}

static void time_posterior(uint32_t blocks, double outcomes)
{
	static const struct flow_likelihood_options of_likelihood = FLOW_LIKELIHOOD_DEFAULTS;
	static const struct flow_posterior_options of_posterior = FLOW_POSTERIOR_DEFAULTS;
	CLEANUP(flow_likelihood_release) struct flow_likelihood likelihood = { 0 };
	CLEANUP(flow_posterior_release) struct flow_posterior posterior = { 0 };
	struct random_state random = random_seed(blocks);
	struct random_flow flow;
	random_flow_init(&flow, &random, blocks, 1, 20);
	uint32_t count = flow.graph.block_count;
	CLEANUP(free_pointer) double *events = allocated(count, sizeof(double));
	CLEANUP(free_pointer) double *costs = allocated(count, sizeof(double));
	CLEANUP(free_pointer) double *evidence = allocated(flow.graph.edge_count, sizeof(double));
	double sum = 0, likely_ns = INFINITY, posterior_ns = INFINITY;
	for (uint32_t b = 0; b < count; b++) {
		costs[b] = 1 + (double)random_below(&random, 12);
		sum += costs[b] * flow.blocks[b];
	}
	for (uint32_t b = 0; b < count; b++)
		events[b] = (double)poisson(&random, 1e5 * costs[b] * flow.blocks[b] / sum *
							     exp(2 * random_unit(&random) - 1));
	for (size_t i = 0; i < flow.graph.edge_count; i++)
		if (flow.graph.edges[i].from != FLOW_OUTSIDE)
			evidence[i] = (double)poisson(
				&random,
				outcomes * flow.edges[i] / flow.blocks[flow.graph.edges[i].from]);
	struct flow_likelihood_result likely;
	struct flow_posterior_result result;
	for (unsigned long round = 0; round < rounds; round++) {
		uint64_t begin = clock_monotonic_ns();
		must(flow_likelihood_solve(&likelihood, &flow.graph, events, costs, &of_likelihood,
					   &likely));
		lap(&begin, &likely_ns);
		must(flow_posterior_solve(&posterior, &flow.graph, events, costs, evidence, &likely,
					  &of_posterior, &result));
		lap(&begin, &posterior_ns);
	}
	printf("%6u blocks, %4.0f outcomes: likelihood %8.3f ms, posterior %8.3f ms, %3u "
	       "evaluations%s\n",
	       count, outcomes, likely_ns / 1e6, posterior_ns / 1e6, result.evaluations,
	       result.converged ? "" : ", stopped there");
	random_flow_release(&flow);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 10, 100, 1000, 10000, 50000 };
	if (argc > 1)
		rounds = strtoul(argv[1], NULL, 10);
	if (rounds < 1) {
		fprintf(stderr, "usage: bench-flow-posterior [ROUNDS]\n");
		return 2;
	}
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		time_posterior(sizes[i], 0);
		time_posterior(sizes[i], 100);
	}
	return 0;
}
