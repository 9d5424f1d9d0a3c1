#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/flow_classes.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_subject.h"

static struct flow_classes classes_of(const struct flow_subject *subject)
{
	struct flow_classes classes;
	assert_int_equal(flow_classes_find(&subject->graph, &subject->search, &classes), 0);
	return classes;
}

static uint32_t class_of_edge(const struct flow_subject *subject,
			      const struct flow_classes *classes, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < subject->graph.edge_count; i++)
		if (subject->graph.edges[i].from == from && subject->graph.edges[i].to == to)
			return classes->of_edge[i];
	fail_msg("no edge from %u to %u", from, to);
	return 0;
}

static void both_sides_of_an_if_are_apart_and_its_ends_together(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 2, 0 };
	const uint32_t edges[] = { 1, 2, 1, 2, 0, 0 }; /* 0-1 0-2 1-3 2-3 3-out out-0 */
	assert_int_equal(classes.count, 3);
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_memory_equal(classes.of_edge, edges, sizeof(edges));
}

static void the_way_into_a_loop_is_as_frequent_as_the_way_out(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 1, 0 };
	const uint32_t edges[] = { 0, 1, 2, 0, 0, 0 }; /* 0-1 1-2 2-1 2-3 3-out out-0 */
	assert_int_equal(classes.count, 3);
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_memory_equal(classes.of_edge, edges, sizeof(edges));
}

static void nested_loops_have_a_class_each(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(5, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 2 },
						   { 2, 3 }, { 3, 1 }, { 3, 4 }, { 4, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 2, 1, 0 };
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	/* one round of the inner loop more is one that its block is not entered for */
	assert_int_not_equal(class_of_edge(&subject, &classes, 2, 2), 2);
	assert_int_equal(class_of_edge(&subject, &classes, 1, 2), 1);
	assert_int_equal(class_of_edge(&subject, &classes, 2, 3), 1);
}

static void the_two_heads_of_an_irreducible_loop_are_apart(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 2 },
						   { 2, 1 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 2, 0 };
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_int_equal(class_of_edge(&subject, &classes, 1, 2), 1);
}

static void an_endless_loop_is_one_class_with_the_way_to_it_apart(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(3, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 1 };
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_int_equal(class_of_edge(&subject, &classes, 0, 1), 0);
	assert_int_equal(class_of_edge(&subject, &classes, OUT, 0), 0);
	assert_int_equal(class_of_edge(&subject, &classes, 1, 2), 1);
}

static void a_second_entry_is_a_class_of_its_own(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(3, { OUT, 0 }, { OUT, 1 }, { 0, 1 }, { 1, 2 }, { 2, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 1 };
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_int_equal(classes.count, 3);
	assert_int_equal(class_of_edge(&subject, &classes, OUT, 1), 2);
}

static void cases_of_a_switch_are_apart_unless_one_falls_into_the_next(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(5, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 0, 3 },
						   { 1, 4 }, { 2, 3 }, { 3, 4 }, { 4, OUT });
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1, 2, 3, 0 };
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_int_equal(class_of_edge(&subject, &classes, 2, 3), 2);
	assert_int_equal(class_of_edge(&subject, &classes, 3, 4), 3);
	assert_int_equal(class_of_edge(&subject, &classes, 0, 3), 4);
}

static void missing_edges_make_each_a_class_of_its_own(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 2);
	graph.missing_edges = true;
	flow_subject_add(&graph, OUT, 0);
	flow_subject_add(&graph, 0, 1);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	const uint32_t blocks[] = { 0, 1 }, edges[] = { 2, 3, 4 };
	assert_int_equal(classes.count, 5);
	assert_memory_equal(classes.of_block, blocks, sizeof(blocks));
	assert_memory_equal(classes.of_edge, edges, sizeof(edges));
}

static void a_graph_without_blocks_has_no_classes(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	assert_int_equal(classes.count, 0);
}

/* By definition: the graph with each block as an edge, and what is on a cycle without one. */
#define MOST	   7
#define NODES	   (2 * MOST + 1)
#define EDGES_MOST (MOST + (MOST + 1) * (MOST + 1) + 2 * MOST)

struct split {
	struct flow_pair edges[EDGES_MOST];
	size_t count;
};

static void split_edge(struct split *split, uint32_t from, uint32_t to)
{
	split->edges[split->count++] = (struct flow_pair){ from == OUT ? 2 * MOST : 2 * from + 1,
							   to == OUT ? 2 * MOST : 2 * to };
}

static struct split split_of(const struct flow_subject *subject)
{
	struct split split = { 0 };
	for (uint32_t block = 0; block < subject->graph.block_count; block++)
		split.edges[split.count++] = (struct flow_pair){ 2 * block, 2 * block + 1 };
	for (size_t i = 0; i < subject->graph.edge_count; i++)
		split_edge(&split, subject->graph.edges[i].from, subject->graph.edges[i].to);
	for (size_t i = 0; i < subject->search.closure.count; i++)
		split_edge(&split, subject->search.closure.edges[i].from,
			   subject->search.closure.edges[i].to);
	return split;
}

/* By edge: whether it lies on a cycle that does not hold `without`. */
static void cycles_without(const struct split *split, size_t without, bool *on_cycle)
{
	uint32_t reached[NODES] = { 0 };
	for (size_t i = 0; i < split->count; i++)
		if (i != without)
			reached[split->edges[i].from] |= 1u << split->edges[i].to;
	for (uint32_t by = 0; by < NODES; by++)
		for (uint32_t at = 0; at < NODES; at++)
			if (reached[at] & 1u << by)
				reached[at] |= reached[by];
	for (size_t i = 0; i < split->count; i++)
		on_cycle[i] = i != without &&
			      (reached[split->edges[i].to] & 1u << split->edges[i].from) != 0;
}

static void classes_are_what_every_cycle_has_both_or_neither_of(void **state)
{
	(void)state;
	struct random_state random = random_seed(13);
	size_t shared = 0;
	for (size_t round = 0; round < 5000; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, MOST);
		CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
		struct split split = split_of(&subject);
		size_t count = subject.graph.block_count + subject.graph.edge_count;
		static bool alone[EDGES_MOST][EDGES_MOST];
		for (size_t i = 0; i < split.count; i++)
			cycles_without(&split, i, alone[i]);
		uint32_t met = 0;
		for (size_t i = 0; i < count; i++) {
			bool is_new = true;
			for (size_t j = 0; j < i; j++) {
				bool together = !alone[i][j] && !alone[j][i];
				assert_int_equal(classes.of_block[i] == classes.of_block[j],
						 together);
				is_new = is_new && !together;
				shared += together;
			}
			if (is_new) /* dense, by first appearance */
				assert_int_equal(classes.of_block[i], met++);
		}
		assert_int_equal(classes.count, met);
		assert_ptr_equal(classes.of_edge, classes.of_block + subject.graph.block_count);
	}
	assert_true(shared > 10000); /* or nothing was tried */
}

static void a_step_of_a_ladder_has_two_classes(void **state)
{
	(void)state;
	uint32_t steps = 50000;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = flow_subject_shape(FLOW_LADDER, 2 * steps + 1);
	CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
	/* what every way meets, and of each step its block and the edge past it */
	assert_int_equal(classes.count, 1 + 2 * steps);
	for (uint32_t step = 0; step < steps; step++) {
		assert_int_equal(classes.of_block[2 * step], 0);
		assert_int_equal(classes.of_block[2 * step + 1], step + 1);
	}
}

static void no_shape_of_100000_blocks_takes_quadratic_time(void **state)
{
	(void)state;
	for (int shape = 0; shape < FLOW_SHAPES; shape++) {
		double begin = cpu_seconds();
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_shape(shape, 100000);
		CLEANUP(flow_classes_release) struct flow_classes classes = classes_of(&subject);
		assert_true(cpu_seconds() - begin < FLOW_SUBJECT_SECONDS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_of_an_if_are_apart_and_its_ends_together),
		cmocka_unit_test(the_way_into_a_loop_is_as_frequent_as_the_way_out),
		cmocka_unit_test(nested_loops_have_a_class_each),
		cmocka_unit_test(the_two_heads_of_an_irreducible_loop_are_apart),
		cmocka_unit_test(an_endless_loop_is_one_class_with_the_way_to_it_apart),
		cmocka_unit_test(a_second_entry_is_a_class_of_its_own),
		cmocka_unit_test(cases_of_a_switch_are_apart_unless_one_falls_into_the_next),
		cmocka_unit_test(missing_edges_make_each_a_class_of_its_own),
		cmocka_unit_test(a_graph_without_blocks_has_no_classes),
		cmocka_unit_test(classes_are_what_every_cycle_has_both_or_neither_of),
		cmocka_unit_test(a_step_of_a_ladder_has_two_classes),
		cmocka_unit_test(no_shape_of_100000_blocks_takes_quadratic_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
