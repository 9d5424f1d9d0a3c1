/*
 * bench-flow-least - what the frequencies of one procedure cost by its size: procedures made
 * of nested loops, branches and tables at random, run for a while, and the counts of
 * their blocks blurred as samples blur them.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_least_cost.h"
#include "analyze/flow/flow_clusters.h"
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

struct procedure {
	struct flow_graph graph;
	uint64_t *counts;		   /* by block */
	struct flow_least_target *targets; /* by block */
};

static void procedure_release(struct procedure *procedure)
{
	flow_graph_release(&procedure->graph);
	free(procedure->counts);
	free(procedure->targets);
}

static int procedure_init(struct procedure *procedure, uint32_t blocks, uint64_t seed)
{
	struct random_state random = random_seed(seed);
	*procedure = (struct procedure){ 0 };
	procedure->counts = calloc(blocks, sizeof(*procedure->counts));
	procedure->targets = calloc(blocks, sizeof(*procedure->targets));
	if (!procedure->counts || !procedure->targets ||
	    make(&procedure->graph, blocks, &random) < 0)
		return -ENOMEM;
	run(&procedure->graph, procedure->counts, &random);
	blur(procedure->counts, procedure->targets, blocks, &random);
	return 0;
}

/* What the procedures of one size took. */
struct cost {
	double least_s, pivots, steps, points_s;
	size_t edges;
};

static int measure_least(const struct procedure *procedure, struct cost *cost)
{
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	const struct flow_graph *graph = &procedure->graph;
	CLEANUP(free_pointer) double *prices = calloc(graph->edge_count, sizeof(*prices));
	if (!prices)
		return -ENOMEM;
	for (size_t i = 0; i < graph->edge_count; i++)
		if (graph->edges[i].from == FLOW_OUTSIDE || graph->edges[i].to == FLOW_OUTSIDE)
			prices[i] = 1e-6;
	struct flow_least_input input = { .graph = graph,
					  .targets = procedure->targets,
					  .edge_prices = prices };
	uint64_t start = clock_monotonic_ns();
	int ret = flow_least_new(&input, &least);
	cost->least_s += (double)(clock_monotonic_ns() - start) * 1e-9;
	cost->pivots += (double)least.pivots;
	cost->steps += (double)least.steps;
	cost->edges += graph->edge_count;
	return ret == 0 && !least.is_least ? -ERANGE : ret;
}

#define BLOCK_INSTRUCTIONS 5

/* Five instructions a block, of which each waits for the one before; two blocks a class. */
static int measure_points(const struct procedure *procedure, struct cost *cost)
{
	uint32_t blocks = procedure->graph.block_count, n = blocks * BLOCK_INSTRUCTIONS;
	CLEANUP(free_pointer) struct flow_range *ranges = calloc(blocks, sizeof(*ranges));
	CLEANUP(free_pointer) uint32_t *classes = calloc(blocks, sizeof(*classes));
	CLEANUP(free_pointer) uint32_t *waits = calloc(n, sizeof(*waits));
	CLEANUP(free_pointer) double *cycles = calloc(n, sizeof(*cycles));
	CLEANUP(free_pointer) double *samples = calloc(n, sizeof(*samples));
	CLEANUP(free_pointer) struct flow_clusters *out = calloc(blocks, sizeof(*out));
	if (!ranges || !classes || !waits || !cycles || !samples || !out)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t block = i / BLOCK_INSTRUCTIONS, first = block * BLOCK_INSTRUCTIONS;
		ranges[block] = (struct flow_range){ first, first + BLOCK_INSTRUCTIONS };
		classes[block] = block / 2;
		cycles[i] = i % 3;
		waits[i] = i > first ? i - 1 : FLOW_WAITS_FOR_NOTHING;
		samples[i] = (double)procedure->counts[block] * (i % 3 + i % 7);
	}
	struct flow_clusters_code code = { n, blocks, blocks, ranges, classes, cycles, waits };
	uint64_t start = clock_monotonic_ns();
	int ret = flow_clusters_estimate(&code, samples, out);
	cost->points_s += (double)(clock_monotonic_ns() - start) * 1e-9;
	return ret;
}

static int measure(uint32_t blocks, uint64_t seed, struct cost *cost)
{
	CLEANUP(procedure_release) struct procedure procedure;
	int ret = procedure_init(&procedure, blocks, seed);
	if (ret == 0)
		ret = measure_least(&procedure, cost);
	return ret < 0 ? ret : measure_points(&procedure, cost);
}

int main(void)
{
	static const uint32_t sizes[] = { 20, 100, 1000, 10000, 20000 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t rounds = 20000 / sizes[i] + 2;
		struct cost cost = { 0 };
		for (size_t round = 0; round < rounds; round++) {
			int ret = measure(sizes[i], round, &cost);
			if (ret < 0) {
				fprintf(stderr, "bench-flow-least: %s\n",
					ret == -ERANGE ? "the limit of steps was met"
						       : "out of memory");
				return 1;
			}
		}
		double n = (double)rounds, blocks = n * sizes[i];
		printf("%5u blocks, %.0f edges a procedure: least cost %8.0f blocks/s (%.3f ms, "
		       "%.2f pivots an edge, %.2g steps), "
		       "points %.2g instructions/s\n",
		       sizes[i], (double)cost.edges / n, blocks / cost.least_s,
		       1e3 * cost.least_s / n, cost.pivots / (double)cost.edges, cost.steps / n,
		       BLOCK_INSTRUCTIONS * blocks / cost.points_s);
	}
	return 0;
}
