#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/flow/flow_distance.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "flow_subject.h"

#define MOST_BLOCKS 30

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-9 * fmax(1, expected));
}

/* Half of what leaves block 0 goes to each side. */
static void a_branch_is_as_far_as_its_outcomes_leave_open(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, OUT });
	const double blocks[] = { 8, 4, 4, 8 };
	double edges[6] = { 0 }, evidence[6] = { 0 }, distances[4];
	for (size_t i = 0; i < subject.graph.edge_count; i++) {
		uint32_t from = subject.graph.edges[i].from;
		edges[i] = from == OUT ? 8 : from == 3 ? 8 : 4;
		evidence[i] = from == 0 ? 12 : 0;
	}
	assert_int_equal(flow_distance_find(&subject.graph, blocks, edges, evidence, 0, distances),
			 0);
	const double side = 0.5 / (0.5 * 25), expected[] = { 0, side, side, side + 0.3 / 4 };
	for (size_t i = 0; i < COUNT_OF(expected); i++)
		assert_near(distances[i], expected[i]);
	assert_int_equal(flow_distance_find(&subject.graph, blocks, edges, NULL, 3, distances), 0);
	const double back[] = { 0.3 / 4 + 1, 0.3 / 4, 0.3 / 4, 0 };
	for (size_t i = 0; i < COUNT_OF(back); i++)
		assert_near(distances[i], back[i]);
}

static void what_no_executions_lead_to_is_endlessly_far(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(2, { OUT, 0 }, { 0, 1 }, { 0, OUT }, { 1, OUT });
	const double blocks[] = { 8, 0 };
	double edges[4] = { 0 }, distances[2];
	assert_int_equal(flow_distance_find(&subject.graph, blocks, edges, NULL, 0, distances), 0);
	assert_true(distances[0] == 0 && isinf(distances[1]));
}

/* By following every edge until nothing gets nearer. */
static void follow_all(const struct flow_graph *graph, const double *blocks, const double *edges,
		       double *distances)
{
	for (bool nearer = true; nearer;) {
		nearer = false;
		for (size_t i = 0; i < graph->edge_count; i++) {
			uint32_t a = graph->edges[i].from, b = graph->edges[i].to;
			if (a == OUT || b == OUT)
				continue;
			double seen = flow_graph_out_of(graph, a).count < 2 ? INFINITY : 0;
			double step = flow_distance_of_edge(edges[i], blocks[a], blocks[b], seen);
			for (int turn = 0; turn < 2; turn++) {
				uint32_t from = turn ? b : a, to = turn ? a : b;
				if (!(distances[from] + step < distances[to]))
					continue;
				distances[to] = distances[from] + step;
				nearer = true;
			}
		}
	}
}

static void of_all_ways_the_shortest_counts(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	for (unsigned round = 0; round < 300; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, MOST_BLOCKS);
		const struct flow_graph *graph = &subject.graph;
		double blocks[MOST_BLOCKS], found[MOST_BLOCKS], expected[MOST_BLOCKS];
		CLEANUP(free_pointer)
		double *edges = calloc(graph->edge_count + 1, sizeof(*edges));
		assert_non_null(edges);
		for (uint32_t b = 0; b < graph->block_count; b++) {
			blocks[b] = 1 + random_unit(&random);
			expected[b] = INFINITY;
		}
		for (size_t i = 0; i < graph->edge_count; i++)
			edges[i] = random_below(&random, 4) ? random_unit(&random) : 0;
		uint32_t from = (uint32_t)random_below(&random, graph->block_count);
		expected[from] = 0;
		follow_all(graph, blocks, edges, expected);
		assert_int_equal(flow_distance_find(graph, blocks, edges, NULL, from, found), 0);
		for (uint32_t b = 0; b < graph->block_count; b++)
			assert_true(found[b] == expected[b] ||
				    fabs(found[b] - expected[b]) < 1e-9 * expected[b]);
	}
}

static void shapes_that_are_large_are_quick(void **state)
{
	(void)state;
	for (int shape = 0; shape < FLOW_SHAPES; shape++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_shape((enum flow_shape)shape, 100001);
		size_t blocks = subject.graph.block_count, all = blocks + subject.graph.edge_count;
		CLEANUP(free_pointer) double *memory = calloc(all + blocks, sizeof(*memory));
		assert_non_null(memory);
		for (size_t i = 0; i < all; i++)
			memory[i] = i < blocks ? 2 : 1;
		double begin = cpu_seconds();
		assert_int_equal(flow_distance_find(&subject.graph, memory, memory + blocks, NULL,
						    0, memory + all),
				 0);
		assert_true(cpu_seconds() - begin < FLOW_SUBJECT_SECONDS);
		for (size_t i = 0; i < blocks; i++)
			assert_true(isfinite(memory[all + i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_is_as_far_as_its_outcomes_leave_open),
		cmocka_unit_test(what_no_executions_lead_to_is_endlessly_far),
		cmocka_unit_test(of_all_ways_the_shortest_counts),
		cmocka_unit_test(shapes_that_are_large_are_quick),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
