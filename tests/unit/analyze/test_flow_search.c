/* flow_closure and flow_search: what everything else about a graph rests on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/flow_search.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_subject.h"

#define MOST 12

/* Sets of blocks as bits, with bit MOST for outside. */
static void reach(const struct flow_graph *graph, const struct flow_closure *closure,
		  uint32_t reached[MOST + 1])
{
	for (uint32_t at = 0; at <= MOST; at++)
		reached[at] = 0;
	for (size_t i = 0; i < graph->edge_count; i++) {
		uint32_t from = graph->edges[i].from, to = graph->edges[i].to;
		reached[from == OUT ? MOST : from] |= 1u << (to == OUT ? MOST : to);
	}
	for (size_t i = 0; closure && i < closure->count; i++) {
		uint32_t from = closure->edges[i].from, to = closure->edges[i].to;
		reached[from == OUT ? MOST : from] |= 1u << (to == OUT ? MOST : to);
	}
	for (uint32_t by = 0; by <= MOST; by++)
		for (uint32_t at = 0; at <= MOST; at++)
			if (reached[at] & 1u << by)
				reached[at] |= reached[by];
}

static void assert_edge(const struct flow_closure *closure, size_t i, uint32_t from, uint32_t to)
{
	assert_true(i < closure->count);
	assert_int_equal(closure->edges[i].from, from);
	assert_int_equal(closure->edges[i].to, to);
	assert_int_equal(closure->edges[i].kind, to == OUT ? FLOW_NO_RETURN : FLOW_OTHER_ENTRY);
}

static void a_graph_that_is_closed_gets_no_edges(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(3, { OUT, 0 }, { 0, 1 }, { 1, 0 }, { 1, 2 }, { 2, OUT });
	assert_int_equal(subject.search.closure.count, 0);
}

static void the_last_block_of_an_endless_loop_gets_an_exit(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(6, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 },
						   { 0, 3 }, { 3, 4 }, { 4, 5 }, { 5, 3 });
	const struct flow_closure *closure = &subject.search.closure;
	assert_int_equal(closure->count, 2);
	assert_int_equal(closure->exit_count, 2);
	assert_edge(closure, 0, 2, OUT);
	assert_edge(closure, 1, 5, OUT);
}

static void the_first_block_of_a_loop_from_nowhere_gets_an_entry(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, OUT }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 3, OUT });
	const struct flow_closure *closure = &subject.search.closure;
	assert_int_equal(closure->count, 1);
	assert_int_equal(closure->exit_count, 0);
	assert_edge(closure, 0, OUT, 1);
	assert_int_equal(subject.search.edge[subject.search.number[1]], FLOW_MADE_UP);
}

static void a_loop_that_leads_to_an_endless_one_needs_no_exit(void **state)
{
	(void)state;
	/* the set that control cannot leave ends before the block that leads there */
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 2 }, { 2, 3 }, { 3, 2 }, { 3, 1 }, { 1, 1 });
	assert_int_equal(subject.search.closure.exit_count, 1);
	assert_edge(&subject.search.closure, 0, 1, OUT);
}

static void a_loop_by_itself_gets_both(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(3, { OUT, 0 }, { 0, OUT }, { 1, 2 }, { 2, 1 });
	assert_int_equal(subject.search.closure.count, 2);
	assert_edge(&subject.search.closure, 0, 2, OUT);
	assert_edge(&subject.search.closure, 1, OUT, 1);
}

static void a_closed_graph_is_strongly_connected_with_as_few_edges_as_do_it(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	size_t exits = 0, entries = 0;
	for (size_t round = 0; round < 5000; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, MOST);
		const struct flow_closure *closure = &subject.search.closure;
		uint32_t blocks = subject.graph.block_count;
		uint32_t before[MOST + 1], after[MOST + 1];
		reach(&subject.graph, NULL, before);
		reach(&subject.graph, closure, after);
		for (uint32_t block = 0; block < blocks; block++)
			assert_true(after[block] & 1u << MOST && after[MOST] & 1u << block);

		/* the last of blocks that all they reach reaches back, and likewise the first */
		size_t exit = 0, entry = 0;
		for (uint32_t block = 0; block < blocks; block++) {
			uint32_t from = 0;
			for (uint32_t other = 0; other <= MOST; other++)
				from |= before[other] & 1u << block ? 1u << other : 0;
			uint32_t set = before[block] & from;
			if (set == before[block] && set >> block == 1)
				assert_edge(closure, exit++, block, OUT);
			if (set == from && !(set & (1u << MOST | ((1u << block) - 1))))
				assert_edge(closure, closure->exit_count + entry++, OUT, block);
		}
		assert_int_equal(exit, closure->exit_count);
		assert_int_equal(exit + entry, closure->count);
		exits += exit;
		entries += entry;
	}
	assert_true(exits > 1000 && entries > 1000); /* or nothing was tried */
}

static void the_procedures_start_is_met_before_other_entries(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 4);
	assert_int_equal(flow_graph_add(&graph, OUT, 1, FLOW_OTHER_ENTRY), 0);
	assert_int_equal(flow_graph_add(&graph, OUT, 2, FLOW_ENTRY), 0);
	assert_int_equal(flow_graph_add(&graph, OUT, 0, FLOW_LANDING), 0);
	assert_int_equal(flow_graph_add(&graph, 2, 3, FLOW_NEXT), 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	const uint32_t expected[] = { OUT, 2, 3, 0, 1 };
	assert_memory_equal(subject.search.block, expected, sizeof(expected));
}

static void it_goes_deep_first_in_the_order_of_blocks(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(5, { OUT, 0 }, { 0, 3 }, { 0, 1 }, { 1, 4 },
						   { 4, 2 }, { 3, 2 }, { 2, OUT });
	const uint32_t block[] = { OUT, 0, 1, 4, 2, 3 }, parent[] = { 0, 0, 1, 2, 3, 1 },
		       last[] = { 5, 5, 4, 4, 4, 5 };
	assert_memory_equal(subject.search.block, block, sizeof(block));
	assert_memory_equal(subject.search.parent, parent, sizeof(parent));
	assert_memory_equal(subject.search.last, last, sizeof(last));
}

static void every_search_is_depth_first(void **state)
{
	(void)state;
	struct random_state random = random_seed(12);
	for (size_t round = 0; round < 5000; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, 30);
		const struct flow_search *search = &subject.search;
		for (uint32_t number = 1; number <= search->block_count; number++) {
			uint32_t edge = search->edge[number];
			assert_int_equal(search->number[search->block[number]], number);
			assert_true(search->parent[number] < number);
			assert_true(flow_search_is_below(search, number, search->parent[number]));
			assert_true(search->last[number] <= search->last[search->parent[number]]);
			if (edge == FLOW_MADE_UP) {
				assert_int_equal(search->parent[number], 0);
				continue;
			}
			assert_int_equal(subject.graph.edges[edge].to, search->block[number]);
			assert_int_equal(subject.graph.edges[edge].from,
					 search->block[search->parent[number]]);
		}
		/* no edge leads on to a part of the tree that its start is not above */
		for (size_t i = 0; i < subject.graph.edge_count; i++) {
			uint32_t from = flow_search_number(search, subject.graph.edges[i].from);
			uint32_t to = flow_search_number(search, subject.graph.edges[i].to);
			assert_true(to <= from || flow_search_is_below(search, to, from));
		}
	}
}

static void a_graph_without_blocks_is_searched(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	assert_int_equal(subject.search.last[0], 0);
}

static void a_path_of_a_million_blocks_needs_no_stack(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = flow_subject_shape(FLOW_LADDER, 1000001);
	assert_int_equal(subject.search.number[1000000], 1000001);
}

/* The search for sets stands in all of the blocks, and all are open, before it meets the end. */
static void an_endless_nest_of_a_million_blocks_needs_no_stack(void **state)
{
	(void)state;
	enum { BLOCKS = 1000000 };
	struct flow_graph graph;
	flow_graph_init(&graph, BLOCKS);
	flow_subject_add(&graph, OUT, 0);
	for (uint32_t block = 0; block + 1 < BLOCKS; block++) {
		flow_subject_add(&graph, block, block + 1);
		if (block > BLOCKS / 2)
			flow_subject_add(&graph, block, BLOCKS - block);
	}
	flow_subject_add(&graph, BLOCKS - 1, BLOCKS - 2);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	assert_int_equal(subject.search.closure.count, 1);
	assert_edge(&subject.search.closure, 0, BLOCKS - 1, OUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_that_is_closed_gets_no_edges),
		cmocka_unit_test(the_last_block_of_an_endless_loop_gets_an_exit),
		cmocka_unit_test(the_first_block_of_a_loop_from_nowhere_gets_an_entry),
		cmocka_unit_test(a_loop_that_leads_to_an_endless_one_needs_no_exit),
		cmocka_unit_test(a_loop_by_itself_gets_both),
		cmocka_unit_test(a_closed_graph_is_strongly_connected_with_as_few_edges_as_do_it),
		cmocka_unit_test(the_procedures_start_is_met_before_other_entries),
		cmocka_unit_test(it_goes_deep_first_in_the_order_of_blocks),
		cmocka_unit_test(every_search_is_depth_first),
		cmocka_unit_test(a_graph_without_blocks_is_searched),
		cmocka_unit_test(a_path_of_a_million_blocks_needs_no_stack),
		cmocka_unit_test(an_endless_nest_of_a_million_blocks_needs_no_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
