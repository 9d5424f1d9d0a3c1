/*
 * bench flow - what it costs to close and search graphs of blocks and to find
 * their classes, loops and dominators: milliseconds and million blocks per second, the
 * best of several runs, for graphs shaped like code (short branches forward, loops, some switches,
 * returns and second entries).
 *
 *     bench-flow [BLOCKS...]      (default: 1000 10000 100000)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_loops.h"
#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"

#define RUNS 7

static void must(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-flow: %s\n", strerror(-ret));
	exit(1);
}

/* A distance of about `mean`, at least 1: most are short, a few long. */
static uint32_t distance(struct random_state *random, uint32_t mean)
{
	uint32_t far = 1;
	while (random_below(random, mean) != 0)
		far++;
	return far;
}

static void add_block(struct flow_graph *graph, struct random_state *random, uint32_t block)
{
	uint32_t last = graph->block_count - 1;
	uint64_t end = random_below(random, 100);
	if (block == last || end < 4) {
		must(flow_graph_add(graph, block, FLOW_OUTSIDE, FLOW_RETURN));
		return;
	}
	uint32_t ways = end < 5 ? 2 + (uint32_t)random_below(random, 30) : end < 65;
	for (uint32_t way = 0; way < ways; way++) {
		bool back = ways == 1 && random_below(random, 5) == 0;
		uint32_t far = distance(random, ways > 1 ? 40 : 6), to = block + far;
		if (back)
			to = far < block ? block - far : 0;
		must(flow_graph_add(graph, block, to < last ? to : last,
				    ways > 1 ? FLOW_INDIRECT : FLOW_BRANCH));
	}
	if (ways <= 1)
		must(flow_graph_add(graph, block, block + 1, FLOW_NEXT));
	if (random_below(random, 200) == 0)
		must(flow_graph_add(graph, FLOW_OUTSIDE, block, FLOW_LANDING));
}

struct times {
	uint64_t settle_ns, search_ns, classes_ns, loops_ns;
	uint32_t classes, loops;
	size_t edges;
};

static void keep_best(uint64_t *best_ns, uint64_t begin_ns)
{
	uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
	if (*best_ns == 0 || taken_ns < *best_ns)
		*best_ns = taken_ns;
}

static void run(uint32_t blocks, struct times *times)
{
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_search_release) struct flow_search search = { 0 };
	CLEANUP(flow_classes_release) struct flow_classes classes = { 0 };
	CLEANUP(flow_loops_release) struct flow_loops loops = { 0 };
	struct random_state random = random_seed(blocks);
	flow_graph_init(&graph, blocks);
	must(flow_graph_add(&graph, FLOW_OUTSIDE, 0, FLOW_ENTRY));
	for (uint32_t block = 0; block < blocks; block++)
		add_block(&graph, &random, block);

	uint64_t begin_ns = clock_monotonic_ns();
	must(flow_graph_settle(&graph));
	keep_best(&times->settle_ns, begin_ns);
	begin_ns = clock_monotonic_ns();
	must(flow_search_run(&graph, &search));
	keep_best(&times->search_ns, begin_ns);
	begin_ns = clock_monotonic_ns();
	must(flow_classes_find(&graph, &search, &classes));
	keep_best(&times->classes_ns, begin_ns);
	begin_ns = clock_monotonic_ns();
	must(flow_loops_find(&graph, &search, &loops));
	keep_best(&times->loops_ns, begin_ns);
	times->edges = graph.edge_count;
	times->classes = classes.count;
	times->loops = loops.count;
}

static void print(const char *what, uint32_t blocks, uint64_t ns)
{
	printf("    %-12s %9.3f ms %8.2f M blocks/s\n", what, (double)ns / 1e6,
	       (double)blocks * 1e3 / (double)ns);
}

static void measure(uint32_t blocks)
{
	struct times times = { 0 };
	for (int i = 0; i < RUNS; i++)
		run(blocks, &times);
	printf("%" PRIu32 " blocks, %zu edges, %" PRIu32 " classes, %" PRIu32 " loops\n", blocks,
	       times.edges, times.classes, times.loops);
	print("settle", blocks, times.settle_ns);
	print("search", blocks, times.search_ns);
	print("classes", blocks, times.classes_ns);
	print("loops", blocks, times.loops_ns);
}

int main(int argc, char **argv)
{
	struct utsname machine;
	if (uname(&machine) == 0)
		printf("%s %s, %s, best of %d\n", machine.sysname, machine.release, machine.machine,
		       RUNS);
	for (int i = 1; i < argc; i++) {
		unsigned long blocks = strtoul(argv[i], NULL, 10);
		if (blocks == 0 || blocks > 100000000) {
			fprintf(stderr, "usage: bench-flow [BLOCKS...]\n");
			return 2;
		}
		measure((uint32_t)blocks);
	}
	if (argc == 1) {
		measure(1000);
		measure(10000);
		measure(100000);
	}
	return 0;
}
