#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/flow_graph.h"
#include "base/cleanup.h"
#include "base/random.h"

static void add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	assert_int_equal(flow_graph_add(graph, from, to, kind), 0);
}

static void edges_are_ordered_and_a_pair_has_one(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 2);
	add(&graph, 1, FLOW_OUTSIDE, FLOW_RETURN);
	add(&graph, 0, 1, FLOW_BRANCH);
	add(&graph, 0, 1, FLOW_NEXT);
	add(&graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	add(&graph, 1, 0, FLOW_BRANCH);
	assert_int_equal(flow_graph_settle(&graph), 0);
	const struct flow_edge expected[] = { { 0, 1, FLOW_NEXT },
					      { 1, 0, FLOW_BRANCH },
					      { 1, FLOW_OUTSIDE, FLOW_RETURN },
					      { FLOW_OUTSIDE, 0, FLOW_ENTRY } };
	assert_int_equal(graph.edge_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(graph.edges[i].from, expected[i].from);
		assert_int_equal(graph.edges[i].to, expected[i].to);
		assert_int_equal(graph.edges[i].kind, expected[i].kind);
	}
}

static void a_block_that_nothing_reaches_or_leaves_is_closed(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 1);
	assert_int_equal(flow_graph_settle(&graph), 0);
	assert_int_equal(graph.edge_count, 2);
	assert_int_equal(graph.edges[flow_graph_out_of(&graph, 0).list[0]].kind, FLOW_NO_RETURN);
	assert_int_equal(graph.edges[flow_graph_into(&graph, 0).list[0]].kind, FLOW_OTHER_ENTRY);
}

static void each_edge_stands_at_both_of_its_blocks(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	for (size_t round = 0; round < 200; round++) {
		CLEANUP(flow_graph_release) struct flow_graph graph;
		uint32_t blocks = (uint32_t)random_below(&random, 12);
		size_t in = 0, out = 0, inner_in = 0, inner_out = 0;
		flow_graph_init(&graph, blocks);
		for (size_t i = 0; blocks && i < 20; i++) {
			uint32_t from = (uint32_t)random_below(&random, blocks + 1);
			uint32_t to = (uint32_t)random_below(&random, blocks);
			add(&graph, from == blocks ? FLOW_OUTSIDE : from, to, FLOW_BRANCH);
		}
		assert_int_equal(flow_graph_settle(&graph), 0);
		for (uint32_t block = 0; block < blocks; block++) {
			struct flow_ends into = flow_graph_into(&graph, block);
			struct flow_ends from = flow_graph_out_of(&graph, block);
			assert_true(into.count > 0 && from.count > 0);
			for (size_t i = 0; i < into.count; i++)
				assert_int_equal(graph.edges[into.list[i]].to, block);
			for (size_t i = 0; i < from.count; i++)
				assert_int_equal(graph.edges[from.list[i]].from, block);
			in += into.count;
			out += from.count;
		}
		for (size_t i = 0; i < graph.edge_count; i++) {
			inner_in += graph.edges[i].to != FLOW_OUTSIDE;
			inner_out += graph.edges[i].from != FLOW_OUTSIDE;
		}
		assert_int_equal(in, inner_in);
		assert_int_equal(out, inner_out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_ordered_and_a_pair_has_one),
		cmocka_unit_test(a_block_that_nothing_reaches_or_leaves_is_closed),
		cmocka_unit_test(each_edge_stands_at_both_of_its_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
