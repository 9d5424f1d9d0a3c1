/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_propagate.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_random.h"

#define MOST_BLOCKS 24
#define MOST_EDGES  300
#define WALKS	    40
#define LONGEST	    200

/* A procedure that ran: its graph, how often what ran, and classes of what ran equally. */
struct history {
	struct flow_graph graph;
	double blocks[MOST_BLOCKS], edges[MOST_EDGES];
	struct flow_edge made_up[2 * MOST_BLOCKS];
	size_t made_up_count;
	uint32_t class_of_block[MOST_BLOCKS], class_of_edge[MOST_EDGES], class_count;
	double estimates[MOST_BLOCKS + MOST_EDGES];
};

static void history_release(struct history *history)
{
	flow_graph_release(&history->graph);
}

static void make_up(struct history *h, uint32_t from, uint32_t to)
{
	for (size_t k = 0; k < h->made_up_count; k++)
		if (h->made_up[k].from == from && h->made_up[k].to == to)
			return;
	h->made_up[h->made_up_count++] = (struct flow_edge){ from, to, FLOW_OTHER_ENTRY };
}

/* Into a block from outside, by an edge that there is; now and then by a made-up one. */
static uint32_t enter(struct history *h, struct random_state *random)
{
	uint32_t entries[MOST_EDGES];
	size_t count = 0;
	for (uint32_t i = 0; i < h->graph.edge_count; i++)
		if (h->graph.edges[i].from == FLOW_OUTSIDE)
			entries[count++] = i;
	if (count > 0 && random_below(random, 20)) {
		uint32_t edge = entries[random_below(random, count)];
		h->edges[edge]++;
		return h->graph.edges[edge].to;
	}
	uint32_t block = (uint32_t)random_below(random, h->graph.block_count);
	make_up(h, FLOW_OUTSIDE, block);
	return block;
}

/* From outside until outside; a walk that does not end breaks off on a made-up way out. */
static void walk(struct history *h, struct random_state *random)
{
	uint32_t block = enter(h, random);
	for (size_t steps = 0; block != FLOW_OUTSIDE; steps++) {
		h->blocks[block]++;
		if (steps >= LONGEST) {
			make_up(h, block, FLOW_OUTSIDE);
			return;
		}
		struct flow_ends ends = flow_graph_out_of(&h->graph, block);
		uint32_t edge = ends.list[random_below(random, ends.count)];
		h->edges[edge]++;
		block = h->graph.edges[edge].to;
	}
}

/* Puts some of what ran equally often into common classes, the rest into their own. */
static uint32_t choose_class(const double *counts, const uint32_t *classes, uint32_t at,
			     uint32_t fresh, struct random_state *random)
{
	uint32_t other = (uint32_t)random_below(random, 3 * (at + (uint64_t)1));
	return other < at && counts[other] == counts[at] ? classes[other] : fresh;
}

static void classify(struct history *h, struct random_state *random)
{
	double counts[MOST_BLOCKS + MOST_EDGES];
	uint32_t classes[MOST_BLOCKS + MOST_EDGES];
	uint32_t blocks = h->graph.block_count, all = blocks + (uint32_t)h->graph.edge_count;
	h->class_count = 0;
	for (uint32_t i = 0; i < all; i++) {
		counts[i] = i < blocks ? h->blocks[i] : h->edges[i - blocks];
		classes[i] = choose_class(counts, classes, i, h->class_count, random);
		if (classes[i] == h->class_count)
			h->estimates[h->class_count++] = NAN;
		*(i < blocks ? &h->class_of_block[i] : &h->class_of_edge[i - blocks]) = classes[i];
	}
	for (uint32_t i = 0; i < blocks; i++) /* as samples do, they tell of blocks */
		if (random_below(random, 10))
			h->estimates[classes[i]] = counts[i];
}

static void make(struct history *h, struct random_state *random)
{
	*h = (struct history){ 0 };
	flow_random(&h->graph, (uint32_t)random_below(random, MOST_BLOCKS + 1), random);
	assert_in_range(h->graph.edge_count, 0, MOST_EDGES);
	for (int i = 0; h->graph.block_count && i < WALKS; i++)
		walk(h, random);
	classify(h, random);
}

struct answer {
	struct flow_executions blocks[MOST_BLOCKS], edges[MOST_EDGES];
};

static void propagate(const struct history *h, struct answer *answer)
{
	struct flow_propagate_input input = { .graph = &h->graph,
					      .made_up = h->made_up,
					      .made_up_count = h->made_up_count,
					      .class_count = h->class_count,
					      .class_of_block = h->class_of_block,
					      .class_of_edge = h->class_of_edge,
					      .estimates = h->estimates };
	assert_int_equal(flow_propagate(&input, answer->blocks, answer->edges), 0);
}

/* What can be known at all, by going over everything until nothing is new. */
static void find_knowable(const struct history *h, bool *known)
{
	for (uint32_t class = 0; class < h->class_count; class ++)
		known[class] = !isnan(h->estimates[class]);
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t side = 0; side < 2 * h->graph.block_count; side++) {
			uint32_t block = side / 2, unknown = 0, last = h->class_of_block[block];
			struct flow_ends ends = side % 2 ? flow_graph_out_of(&h->graph, block)
							 : flow_graph_into(&h->graph, block);
			bool open = false;
			for (size_t i = 0; i < h->made_up_count; i++)
				open = open || (side % 2 ? h->made_up[i].from == block
							 : h->made_up[i].to == block);
			unknown = !known[last];
			for (size_t i = 0; i < ends.count; i++) {
				uint32_t class = h->class_of_edge[ends.list[i]];
				unknown += !known[class];
				last = known[class] ? last : class;
			}
			if (open || unknown != 1)
				continue;
			known[last] = changed = true;
		}
	}
}

static void check(struct flow_executions got, double truth, bool estimated, bool knowable)
{
	if (got.origin == FLOW_GUESSED) {
		assert_false(knowable);
		assert_true(got.value >= 0);
		return;
	}
	assert_int_equal(got.origin, estimated	? FLOW_ESTIMATED
				     : knowable ? FLOW_PROPAGATED
						: FLOW_UNKNOWN);
	assert_true(knowable ? got.value == truth : isnan(got.value));
}

static void all_that_can_be_known_is_and_exactly(void **state)
{
	(void)state;
	struct random_state random = random_seed(21);
	size_t learnt = 0, unknown = 0, guessed = 0, made_up = 0;
	for (size_t round = 0; round < 4000; round++) {
		CLEANUP(history_release) struct history h;
		struct answer answer;
		bool known[MOST_BLOCKS + MOST_EDGES];
		make(&h, &random);
		propagate(&h, &answer);
		find_knowable(&h, known);
		made_up += h.made_up_count;
		for (uint32_t i = 0; i < h.graph.block_count; i++) {
			uint32_t class = h.class_of_block[i];
			check(answer.blocks[i], h.blocks[i], !isnan(h.estimates[class]),
			      known[class]);
			assert_int_not_equal(answer.blocks[i].origin, FLOW_GUESSED);
			learnt += answer.blocks[i].origin == FLOW_PROPAGATED;
		}
		for (uint32_t i = 0; i < h.graph.edge_count; i++) {
			uint32_t class = h.class_of_edge[i];
			check(answer.edges[i], h.edges[i], !isnan(h.estimates[class]),
			      known[class]);
			learnt += answer.edges[i].origin == FLOW_PROPAGATED;
			unknown += answer.edges[i].origin == FLOW_UNKNOWN;
			guessed += answer.edges[i].origin == FLOW_GUESSED;
		}
	}
	assert_true(learnt > 10000 && unknown > 100 && guessed > 1000 && made_up > 100);
}

static void add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	assert_int_equal(flow_graph_add(graph, from, to, kind), 0);
}

/*
 * 0 goes to 1 or 2, both to 3, which returns. Edges in order: 0-1, 0-2, 1-3, 2-3, 3-outside,
 * outside-0. All are classes of their own: blocks 0 to 3, edges 4 to 9.
 */
static void diamond(struct history *h)
{
	*h = (struct history){ .class_count = 10 };
	flow_graph_init(&h->graph, 4);
	add(&h->graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	add(&h->graph, 0, 1, FLOW_NEXT);
	add(&h->graph, 0, 2, FLOW_BRANCH);
	add(&h->graph, 1, 3, FLOW_BRANCH);
	add(&h->graph, 2, 3, FLOW_NEXT);
	add(&h->graph, 3, FLOW_OUTSIDE, FLOW_RETURN);
	assert_int_equal(flow_graph_settle(&h->graph), 0);
	for (uint32_t i = 0; i < 4; i++)
		h->class_of_block[i] = i;
	for (uint32_t i = 0; i < 6; i++)
		h->class_of_edge[i] = 4 + i;
	for (uint32_t i = 0; i < 10; i++)
		h->estimates[i] = NAN;
}

static void assert_is(struct flow_executions got, double value, enum flow_origin origin)
{
	if (got.value != value || got.origin != origin)
		fail_msg("%g of origin %d, not %g of %d", got.value, got.origin, value, origin);
}

static void no_estimate_is_below_0(void **state)
{
	(void)state;
	CLEANUP(history_release) struct history h;
	struct answer answer;
	diamond(&h);
	h.estimates[0] = 100;
	h.estimates[1] = 130;
	propagate(&h, &answer);
	assert_is(answer.edges[0], 130, FLOW_PROPAGATED);
	assert_is(answer.edges[1], 0, FLOW_CLAMPED);
	assert_is(answer.blocks[2], 0, FLOW_PROPAGATED);
	assert_is(answer.blocks[3], 130, FLOW_PROPAGATED);
}

static void contradicting_estimates_stay(void **state)
{
	(void)state;
	CLEANUP(history_release) struct history h;
	struct answer answer;
	diamond(&h);
	h.estimates[0] = 100;
	h.estimates[1] = 30;
	h.estimates[2] = 40;
	propagate(&h, &answer);
	assert_is(answer.blocks[0], 100, FLOW_ESTIMATED);
	assert_is(answer.edges[0], 30, FLOW_PROPAGATED);
	assert_is(answer.edges[1], 40, FLOW_PROPAGATED); /* what only one block tells comes first */
	assert_is(answer.edges[3], 40, FLOW_PROPAGATED);
	assert_is(answer.blocks[3], 70, FLOW_PROPAGATED);
}

static void what_is_left_is_split_and_called_a_guess(void **state)
{
	(void)state;
	CLEANUP(history_release) struct history h;
	struct answer answer;
	diamond(&h);
	h.estimates[0] = 100;
	propagate(&h, &answer);
	assert_is(answer.edges[0], 50, FLOW_GUESSED);
	assert_is(answer.edges[1], 50, FLOW_GUESSED);
	assert_is(answer.edges[5], 100, FLOW_PROPAGATED);
	for (uint32_t block = 1; block < 4; block++)
		assert_int_equal(answer.blocks[block].origin, FLOW_UNKNOWN);
	assert_int_equal(answer.edges[2].origin, FLOW_UNKNOWN); /* it leaves an unknown block */

	h.estimates[0] = NAN;
	h.estimates[3] = 80;
	propagate(&h, &answer);
	assert_is(answer.edges[2], 40, FLOW_GUESSED);
	assert_is(answer.edges[3], 40, FLOW_GUESSED);
	assert_int_equal(answer.edges[0].origin, FLOW_UNKNOWN);
}

static void a_class_learns_as_one(void **state)
{
	(void)state;
	CLEANUP(history_release) struct history h;
	struct answer answer;
	diamond(&h);
	h.class_of_block[3] = h.class_of_edge[4] = h.class_of_edge[5] = 0;
	h.estimates[1] = 30;
	h.estimates[2] = 70;
	propagate(&h, &answer);
	assert_is(answer.blocks[0], 100, FLOW_PROPAGATED);
	assert_is(answer.blocks[3], 100, FLOW_PROPAGATED);
	assert_is(answer.edges[4], 100, FLOW_PROPAGATED);
	assert_is(answer.edges[5], 100, FLOW_PROPAGATED);
}

static void a_made_up_way_leaves_its_side_open(void **state)
{
	(void)state;
	CLEANUP(history_release) struct history h;
	struct answer answer;
	diamond(&h);
	h.estimates[0] = 100;
	h.estimates[1] = 30;
	h.made_up[0] = (struct flow_edge){ 0, FLOW_OUTSIDE, FLOW_NO_RETURN };
	h.made_up_count = 1;
	propagate(&h, &answer);
	assert_is(answer.edges[0], 30, FLOW_PROPAGATED);
	assert_is(answer.edges[1], 70, FLOW_GUESSED);
	assert_int_equal(answer.blocks[2].origin, FLOW_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_can_be_known_is_and_exactly),
		cmocka_unit_test(no_estimate_is_below_0),
		cmocka_unit_test(contradicting_estimates_stay),
		cmocka_unit_test(what_is_left_is_split_and_called_a_guess),
		cmocka_unit_test(a_class_learns_as_one),
		cmocka_unit_test(a_made_up_way_leaves_its_side_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
