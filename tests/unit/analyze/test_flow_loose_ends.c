/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_loose_ends.h"
#include "base/cleanup.h"
#include "base/random.h"

#define MOST_BLOCKS 12

static void add(struct flow_graph *graph, uint32_t from, uint32_t to)
{
	assert_int_equal(flow_graph_add(graph, from, to, FLOW_BRANCH), 0);
}

static void find(struct flow_loose_ends *ends, struct flow_graph *graph)
{
	assert_int_equal(flow_graph_settle(graph), 0);
	assert_int_equal(flow_loose_ends_find(ends, graph), 0);
}

static void a_loop_without_exit_gets_one_at_its_last_block(void **state)
{
	(void)state;
	CLEANUP(flow_loose_ends_release) struct flow_loose_ends ends = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 5);
	add(&graph, FLOW_OUTSIDE, 0);
	add(&graph, 0, 4);
	add(&graph, 4, FLOW_OUTSIDE);
	add(&graph, 0, 2);
	add(&graph, 2, 3);
	add(&graph, 3, 1);
	add(&graph, 1, 2);
	find(&ends, &graph);
	assert_int_equal(ends.count, 1);
	assert_int_equal(ends.ends[0].block, 3);
	assert_true(ends.ends[0].way_out);
}

static void code_that_only_it_itself_leads_to_gets_a_way_in_at_its_first_block(void **state)
{
	(void)state;
	CLEANUP(flow_loose_ends_release) struct flow_loose_ends ends = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 4);
	add(&graph, FLOW_OUTSIDE, 0);
	add(&graph, 0, FLOW_OUTSIDE);
	add(&graph, 1, 2);
	add(&graph, 2, 1);
	add(&graph, 2, 3);
	add(&graph, 3, FLOW_OUTSIDE);
	find(&ends, &graph);
	assert_int_equal(ends.count, 1);
	assert_int_equal(ends.ends[0].block, 1);
	assert_false(ends.ends[0].way_out);
	assert_int_equal(ends.lone_count, 0);
	assert_int_equal(flow_loose_ends_lone_part(&ends, 1), FLOW_OUTSIDE);
}

/* It can run in itself; nothing is known of how it begins. */
static void a_loop_with_neither_needs_neither(void **state)
{
	(void)state;
	CLEANUP(flow_loose_ends_release) struct flow_loose_ends ends = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 3);
	add(&graph, FLOW_OUTSIDE, 0);
	add(&graph, 0, FLOW_OUTSIDE);
	add(&graph, 1, 2);
	add(&graph, 2, 1);
	find(&ends, &graph);
	assert_int_equal(ends.count, 0);
	assert_int_equal(ends.lone_count, 1);
	assert_int_equal(flow_loose_ends_lone_part(&ends, 0), FLOW_OUTSIDE);
	assert_int_equal(flow_loose_ends_lone_part(&ends, 1), flow_loose_ends_lone_part(&ends, 2));
	assert_true(flow_loose_ends_lone_part(&ends, 1) < 3);
}

/* Whether there is a way from block to block, through what is outside too. */
static void reach(const struct flow_graph *graph, const struct flow_loose_ends *ends, size_t used,
		  bool to[MOST_BLOCKS + 1][MOST_BLOCKS + 1])
{
	uint32_t n = graph->block_count;
	memset(to, 0, sizeof(bool) * (MOST_BLOCKS + 1) * (MOST_BLOCKS + 1));
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t a = graph->edges[i].from, b = graph->edges[i].to;
		to[a == FLOW_OUTSIDE ? n : a][b == FLOW_OUTSIDE ? n : b] = true;
	}
	for (size_t i = 0; i < ends->count; i++) {
		uint32_t block = ends->ends[i].block;
		if (i != used)
			to[ends->ends[i].way_out ? block : n][ends->ends[i].way_out ? n : block] =
				true;
	}
	for (uint32_t k = 0; k <= n; k++)
		for (uint32_t a = 0; a <= n; a++)
			for (uint32_t b = 0; b <= n; b++)
				to[a][b] |= to[a][k] && to[k][b];
}

static bool every_edge_is_on_a_circle(const struct flow_graph *graph,
				      bool to[MOST_BLOCKS + 1][MOST_BLOCKS + 1])
{
	uint32_t n = graph->block_count;
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t a = graph->edges[i].from, b = graph->edges[i].to;
		if (!to[b == FLOW_OUTSIDE ? n : b][a == FLOW_OUTSIDE ? n : a])
			return false;
	}
	return true;
}

static void with_them_every_edge_is_on_a_circle_and_none_is_idle(void **state)
{
	(void)state;
	CLEANUP(flow_loose_ends_release) struct flow_loose_ends ends = { 0 };
	struct random_state random = random_seed(1);
	bool to[MOST_BLOCKS + 1][MOST_BLOCKS + 1];
	size_t seen = 0;
	for (size_t round = 0; round < 2000; round++) {
		CLEANUP(flow_graph_release) struct flow_graph graph;
		uint32_t n = (uint32_t)random_below(&random, MOST_BLOCKS + 1);
		flow_graph_init(&graph, n);
		for (size_t i = 0; n && i < n + random_below(&random, n); i++) {
			uint32_t a = (uint32_t)random_below(&random, n);
			uint32_t b = (uint32_t)random_below(&random, n);
			uint64_t kind = random_below(&random, 16);
			add(&graph, kind == 0 ? FLOW_OUTSIDE : a, kind == 1 ? FLOW_OUTSIDE : b);
		}
		find(&ends, &graph);
		reach(&graph, &ends, SIZE_MAX, to);
		assert_true(every_edge_is_on_a_circle(&graph, to));
		for (size_t i = 0; i < ends.count; i++) {
			reach(&graph, &ends, i, to);
			assert_false(every_edge_is_on_a_circle(&graph, to));
		}
		seen += ends.count;
	}
	assert_true(seen > 500);
}

/* No recursion: a chain and a nest of a million blocks. */
static void deep_graphs_need_no_stack(void **state)
{
	(void)state;
	CLEANUP(flow_loose_ends_release) struct flow_loose_ends ends = { 0 };
	CLEANUP(flow_graph_release) struct flow_graph graph;
	enum { BLOCKS = 1000000 };
	flow_graph_init(&graph, BLOCKS);
	add(&graph, FLOW_OUTSIDE, 0);
	for (uint32_t block = 0; block + 1 < BLOCKS; block++) {
		add(&graph, block, block + 1);
		if (block > BLOCKS / 2)
			add(&graph, block, BLOCKS - block);
	}
	add(&graph, BLOCKS - 1, BLOCKS - 2);
	find(&ends, &graph);
	assert_int_equal(ends.count, 1);
	assert_int_equal(ends.ends[0].block, BLOCKS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_without_exit_gets_one_at_its_last_block),
		cmocka_unit_test(
			code_that_only_it_itself_leads_to_gets_a_way_in_at_its_first_block),
		cmocka_unit_test(a_loop_with_neither_needs_neither),
		cmocka_unit_test(with_them_every_edge_is_on_a_circle_and_none_is_idle),
		cmocka_unit_test(deep_graphs_need_no_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
