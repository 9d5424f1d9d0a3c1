/*
 * bench-flow - what the frequencies of one procedure cost by its size: procedures made
 * of nested loops, branches and tables at random, run for a while, and the counts of
 * their blocks blurred as samples blur them.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_least.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"

#define RUN_BLOCKS 400 /* executed for each block that there is */

/* Code as compilers lay it out: mostly near branches, loops of all sizes, a few tables. */
static int make(struct flow_graph *graph, uint32_t blocks, struct random_state *random)
{
	flow_graph_init(graph, blocks);
	int ret = flow_graph_add(graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	for (uint32_t block = 0; block < blocks && ret == 0; block++) {
		uint64_t kind = random_below(random, 100);
		uint32_t reach = 1u << random_below(random, 10),
			 near = (uint32_t)random_below(random, reach);
		bool falls = kind >= 8;
		if (kind < 4 || block + 1 == blocks)
			ret = flow_graph_add(graph, block, FLOW_OUTSIDE, FLOW_RETURN);
		for (uint32_t i = 0; kind == 4 && i < 20 && ret == 0; i++)
			ret = flow_graph_add(graph, block, (uint32_t)random_below(random, blocks),
					     FLOW_INDIRECT);
		if (kind >= 5 && kind < 55 && block + 2 + near < blocks)
			ret = flow_graph_add(graph, block, block + 2 + near, FLOW_BRANCH);
		else if (kind >= 55 && kind < 70 && near <= block)
			ret = flow_graph_add(graph, block, block - near, FLOW_BRANCH);
		else
			falls = falls || (kind > 4 && kind < 8);
		if (ret == 0 && falls && block + 1 < blocks)
			ret = flow_graph_add(graph, block, block + 1, FLOW_NEXT);
	}
	return ret < 0 ? ret : flow_graph_settle(graph);
}

/* Each block leaves by its first edge with a chance of its own, else by any. */
static void run(const struct flow_graph *graph, uint64_t *counts, struct random_state *random)
{
	uint32_t block = 0;
	for (uint64_t left = (uint64_t)RUN_BLOCKS * graph->block_count; left > 0; left--) {
		counts[block]++;
		struct flow_ends ends = flow_graph_out_of(graph, block);
		double chance = (double)(hash_u64(block) >> 11) * 0x1p-53;
		size_t which = random_unit(random) < chance ? 0 : random_below(random, ends.count);
		block = graph->edges[ends.list[which]].to;
		if (block == FLOW_OUTSIDE)
			block = random_below(random, 10)
					? 0
					: (uint32_t)random_below(random, graph->block_count);
	}
}

/* Normal enough: a sum of twelve. */
static double noise(struct random_state *random)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += random_unit(random);
	return sum;
}

static void blur(const uint64_t *counts, struct flow_least_target *targets, uint32_t blocks,
		 struct random_state *random)
{
	for (uint32_t block = 0; block < blocks; block++) {
		double count = (double)counts[block];
		double seen = fmax(0, count + noise(random) * sqrt(count + 0.01 * count * count));
		double price = 1 / sqrt(fmax(seen, 1) + 0.01 * seen * seen);
		targets[block] = (struct flow_least_target){ seen, price, 0.6 * price };
		if (random_below(random, 10) == 0)
			targets[block] = (struct flow_least_target){ 0 };
	}
}

static int measure(uint32_t blocks, uint64_t seed, double *seconds, double *pivots, double *steps,
		   size_t *edges)
{
	CLEANUP(flow_graph_release) struct flow_graph graph = { 0 };
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	CLEANUP(free_pointer) uint64_t *counts = calloc(blocks, sizeof(*counts));
	CLEANUP(free_pointer) struct flow_least_target *targets = calloc(blocks, sizeof(*targets));
	struct random_state random = random_seed(seed);
	if (!counts || !targets || make(&graph, blocks, &random) < 0)
		return -ENOMEM;
	run(&graph, counts, &random);
	blur(counts, targets, blocks, &random);
	CLEANUP(free_pointer) double *prices = calloc(graph.edge_count, sizeof(*prices));
	if (!prices)
		return -ENOMEM;
	for (size_t i = 0; i < graph.edge_count; i++)
		if (graph.edges[i].from == FLOW_OUTSIDE || graph.edges[i].to == FLOW_OUTSIDE)
			prices[i] = 1e-6;
	uint64_t start = clock_monotonic_ns();
	int ret = flow_least_new(&graph, targets, prices, FLOW_LEAST_USUAL_LIMIT, &least);
	*seconds += (double)(clock_monotonic_ns() - start) * 1e-9;
	*pivots += (double)least.pivots;
	*steps += (double)least.steps;
	*edges += graph.edge_count;
	return ret == 0 && !least.is_least ? -ERANGE : ret;
}

int main(void)
{
	static const uint32_t sizes[] = { 20, 100, 1000, 10000, 20000 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t rounds = 20000 / sizes[i] + 2, edges = 0;
		double seconds = 0, pivots = 0, steps = 0;
		for (size_t round = 0; round < rounds; round++) {
			int ret = measure(sizes[i], round, &seconds, &pivots, &steps, &edges);
			if (ret < 0) {
				fprintf(stderr, "bench-flow: %s\n",
					ret == -ERANGE ? "the limit of steps was met"
						       : "out of memory");
				return 1;
			}
		}
		double blocks = (double)rounds * sizes[i];
		printf("least cost, %5u blocks %6.0f edges: %8.0f blocks/s, %9.3f ms a procedure, "
		       "%.2f pivots an edge, %.2g steps\n",
		       sizes[i], (double)edges / (double)rounds, blocks / seconds,
		       1e3 * seconds / (double)rounds, pivots / (double)edges,
		       steps / (double)rounds);
	}
	return 0;
}
