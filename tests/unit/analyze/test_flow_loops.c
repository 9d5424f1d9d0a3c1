#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/flow/flow_loops.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_subject.h"

#define NONE FLOW_NO_LOOP

static struct flow_loops loops_of(const struct flow_subject *subject)
{
	struct flow_loops loops;
	assert_int_equal(flow_loops_find(&subject->graph, &subject->search, &loops), 0);
	return loops;
}

static void check_loop(const struct flow_loops *loops, uint32_t loop, struct flow_loop expected)
{
	assert_true(loop < loops->count);
	const struct flow_loop *found = &loops->list[loop];
	assert_int_equal(found->header, expected.header);
	assert_int_equal(found->parent, expected.parent);
	assert_int_equal(found->depth, expected.depth);
	assert_int_equal(found->block_count, expected.block_count);
	assert_int_equal(found->irreducible, expected.irreducible);
}

static void code_without_loops_has_none(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 0);
	for (uint32_t block = 0; block < 4; block++)
		assert_int_equal(loops.of_block[block], NONE);
}

static void a_block_that_jumps_to_itself_is_a_loop(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(2, { OUT, 0 }, { 0, 0 }, { 0, 1 }, { 1, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 1);
	check_loop(&loops, 0, (struct flow_loop){ 0, NONE, 1, 1, false });
	assert_int_equal(loops.of_block[0], 0);
	assert_int_equal(loops.of_block[1], NONE);
}

static void loops_nest_and_stand_beside_each_other(void **state)
{
	(void)state;
	/* for (;;) { for (...) 2; for (...) 3, 4 } 6 */
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(7, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 2 }, { 2, 3 }, { 3, 4 },
			     { 4, 3 }, { 3, 5 }, { 5, 1 }, { 5, 6 }, { 6, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 3);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 5, false });
	check_loop(&loops, 1, (struct flow_loop){ 2, 0, 2, 1, false });
	check_loop(&loops, 2, (struct flow_loop){ 3, 0, 2, 2, false });
	const uint32_t expected[] = { NONE, 0, 1, 2, 2, 0, NONE };
	assert_memory_equal(loops.of_block, expected, sizeof(expected));
}

static void two_continues_make_one_loop(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(5, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 1, 3 },
						   { 2, 1 }, { 3, 1 }, { 3, 4 }, { 4, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 1);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 3, false });
}

static void an_endless_loop_is_a_loop(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(3, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 1 });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 1);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 2, false });
}

static void a_jump_into_a_loop_makes_it_irreducible(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 2 },
						   { 2, 1 }, { 2, 3 }, { 3, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 1);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 2, true });
}

static void an_entry_from_outside_makes_what_it_enters_irreducible(void **state)
{
	(void)state;
	/* three levels; control comes from outside to block 3, inside of the second */
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(6, { OUT, 0 }, { 0, 1 }, { 1, 2 }, { 2, 2 }, { 2, 3 }, { 3, 1 },
			     { 3, 4 }, { 4, 0 }, { 4, 5 }, { 5, OUT }, { OUT, 3 });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 3);
	check_loop(&loops, 0, (struct flow_loop){ 0, NONE, 1, 5, true });
	check_loop(&loops, 1, (struct flow_loop){ 1, 0, 2, 3, true });
	check_loop(&loops, 2, (struct flow_loop){ 2, 1, 3, 1, false });
}

static void a_jump_between_levels_marks_only_the_levels_it_enters(void **state)
{
	(void)state;
	/* block 0 is the header around all and jumps past header 1 */
	CLEANUP(flow_subject_release)
	struct flow_subject subject = FLOW_SUBJECT(4, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 2 },
						   { 2, 1 }, { 2, 3 }, { 3, 0 }, { 3, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 2);
	check_loop(&loops, 0, (struct flow_loop){ 0, NONE, 1, 4, false });
	check_loop(&loops, 1, (struct flow_loop){ 1, 0, 2, 2, true });
}

static void a_jump_to_the_header_of_a_loop_inside_marks_the_one_around(void **state)
{
	(void)state;
	CLEANUP(flow_subject_release)
	struct flow_subject subject =
		FLOW_SUBJECT(5, { OUT, 0 }, { 0, 1 }, { 0, 2 }, { 1, 2 }, { 2, 3 }, { 3, 2 },
			     { 3, 1 }, { 3, 4 }, { 4, OUT });
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 2);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 3, true });
	check_loop(&loops, 1, (struct flow_loop){ 2, 0, 2, 2, false });
}

static void the_procedures_start_makes_the_header(void **state)
{
	(void)state;
	/* entered at block 1; block 0 is entered as well and stands first */
	struct flow_graph graph;
	flow_graph_init(&graph, 2);
	assert_int_equal(flow_graph_add(&graph, OUT, 0, FLOW_LANDING), 0);
	assert_int_equal(flow_graph_add(&graph, OUT, 1, FLOW_ENTRY), 0);
	assert_int_equal(flow_graph_add(&graph, 0, 1, FLOW_NEXT), 0);
	assert_int_equal(flow_graph_add(&graph, 1, 0, FLOW_BRANCH), 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 1);
	check_loop(&loops, 0, (struct flow_loop){ 1, NONE, 1, 2, true });
}

static void a_graph_without_blocks_has_no_loops(void **state)
{
	(void)state;
	struct flow_graph graph;
	flow_graph_init(&graph, 0);
	CLEANUP(flow_subject_release) struct flow_subject subject = flow_subject_of(&graph);
	CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
	assert_int_equal(loops.count, 0);
}

/*
 * By definition, with sets of blocks as bits: strongly connected sets, their first block
 * in the search's order, and again without the edges to it.
 */
#define MOST 14

struct nest {
	const struct flow_subject *subject;
	const struct flow_loops *loops;
	uint32_t to[MOST];	  /* by block: blocks that edges lead to */
	uint32_t innermost[MOST]; /* by block: the loop found last, which is the innermost */
	uint32_t found, irreducible;
};

static uint32_t reached_within(const struct nest *nest, const uint32_t to[MOST], uint32_t set,
			       uint32_t block)
{
	uint32_t reached = to[block] & set, before;
	do {
		before = reached;
		for (uint32_t at = 0; at < nest->subject->graph.block_count; at++)
			if (reached & 1u << at)
				reached |= to[at] & set;
	} while (reached != before);
	return reached;
}

static void check_set(struct nest *nest, uint32_t to[MOST], uint32_t set, uint32_t parent,
		      uint32_t depth);

static void check_one(struct nest *nest, const uint32_t to[MOST], uint32_t set, uint32_t parent,
		      uint32_t depth)
{
	const struct flow_graph *graph = &nest->subject->graph;
	uint32_t header = OUT, loop = NONE, inner[MOST];
	for (uint32_t block = 0; block < graph->block_count; block++)
		if (set & 1u << block &&
		    (header == OUT ||
		     nest->subject->search.number[block] < nest->subject->search.number[header]))
			header = block;
	bool irreducible = false;
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct flow_edge *edge = &graph->edges[i];
		irreducible |= edge->to != OUT && edge->to != header && set & 1u << edge->to &&
			       (edge->from == OUT || !(set & 1u << edge->from));
	}
	for (uint32_t i = 0; i < nest->loops->count; i++)
		if (nest->loops->list[i].header == header)
			loop = i;
	check_loop(nest->loops, loop,
		   (struct flow_loop){ header, parent, depth, (uint32_t)__builtin_popcount(set),
				       irreducible });
	nest->found++;
	nest->irreducible += irreducible;
	for (uint32_t block = 0; block < graph->block_count; block++) {
		inner[block] = to[block] & ~(set & 1u << block ? 1u << header : 0);
		if (set & 1u << block)
			nest->innermost[block] = loop;
	}
	check_set(nest, inner, set & ~(1u << header), loop, depth + 1);
}

static void check_set(struct nest *nest, uint32_t to[MOST], uint32_t set, uint32_t parent,
		      uint32_t depth)
{
	uint32_t left = set;
	for (uint32_t block = 0; block < nest->subject->graph.block_count; block++) {
		if (!(left & 1u << block))
			continue;
		uint32_t connected = 0, reached = reached_within(nest, to, set, block);
		for (uint32_t other = 0; other < nest->subject->graph.block_count; other++)
			if (reached & 1u << other &&
			    reached_within(nest, to, set, other) & 1u << block)
				connected |= 1u << other;
		left &= ~(connected | 1u << block);
		if (connected)
			check_one(nest, to, connected, parent, depth);
	}
}

/* A loop holds its own blocks and those of the loops inside of it. */
static void check_holds(const struct flow_loops *loops, uint32_t block_count)
{
	for (uint32_t block = 0; block < block_count; block++) {
		uint32_t around = 0;
		for (uint32_t l = loops->of_block[block]; l != NONE; l = loops->list[l].parent)
			around |= 1u << l;
		for (uint32_t loop = 0; loop < loops->count; loop++)
			assert_int_equal(flow_loops_hold(loops, loop, block), around >> loop & 1);
	}
}

static void loops_are_strongly_connected_sets_within_each_other(void **state)
{
	(void)state;
	struct random_state random = random_seed(15);
	uint32_t found = 0, irreducible = 0, deepest = 0;
	for (size_t round = 0; round < 20000; round++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_random(&random, MOST);
		CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
		uint32_t blocks = subject.graph.block_count;
		struct nest nest = { .subject = &subject, .loops = &loops };
		for (uint32_t block = 0; block < blocks; block++)
			nest.innermost[block] = NONE;
		for (size_t i = 0; i < subject.graph.edge_count; i++)
			if (subject.graph.edges[i].from != OUT && subject.graph.edges[i].to != OUT)
				nest.to[subject.graph.edges[i].from] |=
					1u << subject.graph.edges[i].to;
		check_set(&nest, nest.to, (1u << blocks) - 1, NONE, 1);
		assert_int_equal(loops.count, nest.found);
		assert_memory_equal(loops.of_block, nest.innermost, blocks * sizeof(uint32_t));
		check_holds(&loops, blocks);
		for (uint32_t loop = 0; loop < loops.count; loop++) {
			assert_true(loops.list[loop].parent == NONE ||
				    loops.list[loop].parent < loop);
			if (loops.list[loop].depth > deepest)
				deepest = loops.list[loop].depth;
		}
		found += nest.found;
		irreducible += nest.irreducible;
	}
	assert_true(found > 20000 && irreducible > 5000 && found - irreducible > 5000);
	assert_true(deepest >= 4); /* or nothing was tried */
}

static void fifty_thousand_levels_nest(void **state)
{
	(void)state;
	uint32_t levels = 50000;
	for (int shape = FLOW_NEST; shape <= FLOW_ENTERED_NEST; shape++) {
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_shape(shape, 2 * levels);
		CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
		assert_int_equal(loops.count, levels);
		for (uint32_t level = 0; level < levels; level++)
			check_loop(&loops, level,
				   (struct flow_loop){ level, level ? level - 1 : NONE, level + 1,
						       2 * (levels - level),
						       shape == FLOW_ENTERED_NEST });
	}
}

static void no_shape_of_100000_blocks_takes_quadratic_time(void **state)
{
	(void)state;
	uint32_t blocks = 100000;
	const uint32_t expected[] = {
		[FLOW_NEST] = blocks / 2,   [FLOW_ENTERED_NEST] = blocks / 2,
		[FLOW_TANGLE] = blocks - 2, /* without its header the rest is a tangle again */
		[FLOW_FAN] = blocks - 1,    [FLOW_SWITCH] = 0,
	};
	for (int shape = 0; shape < FLOW_SHAPES; shape++) {
		double begin = cpu_seconds();
		CLEANUP(flow_subject_release)
		struct flow_subject subject = flow_subject_shape(shape, blocks);
		CLEANUP(flow_loops_release) struct flow_loops loops = loops_of(&subject);
		assert_true(cpu_seconds() - begin < FLOW_SUBJECT_SECONDS);
		assert_int_equal(loops.count, expected[shape]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_loops_has_none),
		cmocka_unit_test(a_block_that_jumps_to_itself_is_a_loop),
		cmocka_unit_test(loops_nest_and_stand_beside_each_other),
		cmocka_unit_test(two_continues_make_one_loop),
		cmocka_unit_test(an_endless_loop_is_a_loop),
		cmocka_unit_test(a_jump_into_a_loop_makes_it_irreducible),
		cmocka_unit_test(an_entry_from_outside_makes_what_it_enters_irreducible),
		cmocka_unit_test(a_jump_between_levels_marks_only_the_levels_it_enters),
		cmocka_unit_test(a_jump_to_the_header_of_a_loop_inside_marks_the_one_around),
		cmocka_unit_test(the_procedures_start_makes_the_header),
		cmocka_unit_test(a_graph_without_blocks_has_no_loops),
		cmocka_unit_test(loops_are_strongly_connected_sets_within_each_other),
		cmocka_unit_test(fifty_thousand_levels_nest),
		cmocka_unit_test(no_shape_of_100000_blocks_takes_quadratic_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
