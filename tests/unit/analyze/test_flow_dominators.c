#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/flow_dominators.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_subject.h"

static struct flow_dominators dominators_of(const struct flow_subject *subject)
{
	struct flow_dominators dominators;
	assert_int_equal(flow_dominators_find(&subject->graph, &subject->search, &dominators), 0);
	return dominators;
}

static void an_if_dominates_what_follows_it_and_its_sides_do_not(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	const uint32_t expected[] = { OUT, 0, 0, 0 };
	assert_memory_equal(dominators.immediate, expected, sizeof(expected));
}

static void a_loops_header_dominates_it_and_its_test_what_follows(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	const uint32_t expected[] = { OUT, 0, 1, 2 };
	assert_memory_equal(dominators.immediate, expected, sizeof(expected));
}

static void an_entry_into_the_middle_leaves_what_follows_to_outside(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(3, { OUT, 0 }, { 0, 1 }, { OUT, 1 }, { 1, 2 }, { 2, OUT });
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	const uint32_t expected[] = { OUT, OUT, 1 };
	assert_memory_equal(dominators.immediate, expected, sizeof(expected));
}

static void a_loop_from_nowhere_is_entered_from_outside(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 3 }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	const uint32_t expected[] = { OUT, OUT, 1, OUT };
	assert_memory_equal(dominators.immediate, expected, sizeof(expected));
}

/* The example of the paper's figure 1: R A B C D E F G H I J K L are 0 to 12. */
static void the_papers_example_comes_out(void **state)
{
	(void)state;
	enum { R, A, B, C, D, E, F, G, H, I, J, K, L };
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(
		13, { OUT, R }, { R, A }, { R, B }, { R, C }, { A, D }, { B, A }, { B, D },
		{ B, E }, { C, F }, { C, G }, { D, L }, { E, H }, { F, I }, { G, I }, { G, J },
		{ H, E }, { H, K }, { I, K }, { J, I }, { K, I }, { K, R }, { L, H });
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	const uint32_t expected[] = { OUT, R, R, R, R, R, C, C, R, R, G, R, D };
	assert_memory_equal(dominators.immediate, expected, sizeof(expected));
}

static void a_graph_without_blocks_has_no_dominators(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	CLEANUP(flow_dominators_release)
	struct flow_dominators dominators = dominators_of(&subject);
	assert_non_null(dominators.immediate);
}

/* By definition: the blocks, as bits, that control reaches from outside without `without`. */
static uint32_t reached_without(const struct flow_subject *subject, uint32_t without)
{
	uint32_t reached = 0, before;
	for (size_t i = subject->search.closure.exit_count; i < subject->search.closure.count; i++)
		reached |= 1u << subject->search.closure.edges[i].to;
	do {
		before = reached;
		for (size_t i = 0; i < subject->graph.edge_count; i++) {
			uint32_t from = subject->graph.edges[i].from,
				 to = subject->graph.edges[i].to;
			if (to != OUT && (from == OUT || (from != without && reached & 1u << from)))
				reached |= 1u << to;
		}
	} while (reached != before);
	return reached;
}

static void dominators_are_what_every_way_passes(void **state)
{
	(void)state;
	struct random_state random = random_seed(14);
	size_t inner = 0;
	for (size_t round = 0; round < 20000; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, 16);
		CLEANUP(flow_dominators_release)
		struct flow_dominators dominators = dominators_of(&subject);
		uint32_t blocks = subject.graph.block_count, of[16] = { 0 };
		for (uint32_t other = 0; other < blocks; other++) {
			uint32_t reached = reached_without(&subject, other);
			for (uint32_t block = 0; block < blocks; block++)
				if (block != other && !(reached & 1u << block))
					of[block] |= 1u << other;
		}
		for (uint32_t block = 0; block < blocks; block++) {
			uint32_t nearest = OUT; /* the one that all others dominate too */
			for (uint32_t other = 0; other < blocks; other++)
				if (of[block] == (of[other] | 1u << other))
					nearest = other;
			assert_true(nearest != OUT || of[block] == 0);
			assert_int_equal(dominators.immediate[block], nearest);
			inner += nearest != OUT;
		}
	}
	assert_true(inner > 10000); /* or nothing was tried */
}

static void no_shape_of_100000_blocks_takes_quadratic_time(void **state)
{
	(void)state;
	uint32_t blocks = 100000, half = blocks / 2;
	for (int shape = 0; shape < FLOW_SHAPES; shape++) {
		double begin = cpu_seconds();
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_shape(shape, blocks);
		CLEANUP(flow_dominators_release)
		struct flow_dominators dominators = dominators_of(&subject);
		assert_true(cpu_seconds() - begin < FLOW_SUBJECT_SECONDS);
		assert_int_equal(dominators.immediate[0], OUT);
		for (uint32_t block = 1; block < blocks; block++) {
			uint32_t expected = block - 1; /* FLOW_NEST, FLOW_FAN */
			if (shape == FLOW_LADDER)
				expected = block % 2 ? block - 1 : block - 2;
			else if (shape == FLOW_TANGLE || shape == FLOW_SWITCH)
				expected = 0;
			else if (shape == FLOW_ENTERED_NEST)
				expected = OUT;
			else if (shape == FLOW_COMB && (block == half - 1 || block == half))
				expected = 0;
			assert_int_equal(dominators.immediate[block], expected);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_if_dominates_what_follows_it_and_its_sides_do_not),
		cmocka_unit_test(a_loops_header_dominates_it_and_its_test_what_follows),
		cmocka_unit_test(an_entry_into_the_middle_leaves_what_follows_to_outside),
		cmocka_unit_test(a_loop_from_nowhere_is_entered_from_outside),
		cmocka_unit_test(the_papers_example_comes_out),
		cmocka_unit_test(a_graph_without_blocks_has_no_dominators),
		cmocka_unit_test(dominators_are_what_every_way_passes),
		cmocka_unit_test(no_shape_of_100000_blocks_takes_quadratic_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
