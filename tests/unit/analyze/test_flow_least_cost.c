/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_least_cost.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "flow_random.h"

#define MOST_BLOCKS  40
#define MOST_EDGES   400
#define MOST_MADE_UP 4

/* A question: a graph with whole targets and prices, and now and then neither. */
struct question {
	struct flow_graph graph;
	struct flow_least_target targets[MOST_BLOCKS];
	double edge_prices[MOST_EDGES];
	struct flow_edge made_up[MOST_MADE_UP];
	size_t made_up_count;
	double made_up_price;
};

static void question_release(struct question *question)
{
	flow_graph_release(&question->graph);
}

static void ask(struct question *question, uint32_t blocks, struct random_state *random)
{
	flow_random(&question->graph, blocks, random);
	assert_in_range(question->graph.edge_count, 0, MOST_EDGES);
	uint64_t most_price = 1 + random_below(random, 9);
	uint64_t most_count = 1 + random_below(random, 20);
	for (uint32_t block = 0; block < blocks; block++) {
		struct flow_least_target *target = &question->targets[block];
		target->count = (double)random_below(random, most_count);
		target->above_price = (double)random_below(random, most_price);
		target->below_price = (double)random_below(random, most_price);
		if (random_below(random, 5) == 0)
			*target = (struct flow_least_target){ .count = NAN };
		/* both prices 0 by chance leave the block without a target too */
	}
	question->made_up_count = blocks ? random_below(random, MOST_MADE_UP + 1) : 0;
	question->made_up_price = (double)random_below(random, 1 + most_price);
	for (size_t i = 0; i < question->made_up_count; i++) {
		uint32_t block = (uint32_t)random_below(random, blocks);
		question->made_up[i] =
			random_below(random, 2)
				? (struct flow_edge){ block, FLOW_OUTSIDE, FLOW_NO_RETURN }
				: (struct flow_edge){ FLOW_OUTSIDE, block, FLOW_OTHER_ENTRY };
	}
	bool free_edges = random_below(random, 2);
	for (size_t edge = 0; edge < question->graph.edge_count; edge++)
		question->edge_prices[edge] =
			free_edges ? 0 : (double)random_below(random, 1 + most_price / 2);
}

static int solve(const struct flow_graph *graph, const struct flow_least_target *targets,
		 const double *edge_prices, struct flow_least *least)
{
	struct flow_least_input input = { .graph = graph,
					  .targets = targets,
					  .edge_prices = edge_prices };
	return flow_least_new(&input, least);
}

static int solve_within(const struct question *question, uint64_t step_limit,
			struct flow_least *least)
{
	struct flow_least_input input = { .graph = &question->graph,
					  .targets = question->targets,
					  .edge_prices = question->edge_prices,
					  .made_up = question->made_up,
					  .made_up_count = question->made_up_count,
					  .made_up_price = question->made_up_price,
					  .step_limit = step_limit };
	return flow_least_new(&input, least);
}

static void answer(const struct question *question, struct flow_least *least)
{
	assert_int_equal(solve_within(question, 0, least), 0);
	assert_true(least->is_least);
}

static double sum_over(const double *edges, struct flow_ends ends)
{
	double sum = 0;
	for (size_t i = 0; i < ends.count; i++)
		sum += edges[ends.list[i]];
	return sum;
}

static void assert_circulation(const struct question *question, const struct flow_least *least)
{
	const struct flow_graph *graph = &question->graph;
	for (size_t edge = 0; edge < graph->edge_count; edge++)
		assert_true(least->edges[edge] >= 0);
	for (uint32_t block = 0; block < graph->block_count; block++) {
		double into = sum_over(least->edges, flow_graph_into(graph, block));
		double out_of = sum_over(least->edges, flow_graph_out_of(graph, block));
		for (size_t i = 0; i < question->made_up_count; i++) {
			assert_true(least->made_up[i] >= 0);
			into += question->made_up[i].to == block ? least->made_up[i] : 0;
			out_of += question->made_up[i].from == block ? least->made_up[i] : 0;
		}
		if (into != out_of || into != least->blocks[block])
			fail_msg("block %u: %.17g in, %.17g out, %.17g executions", block, into,
				 out_of, least->blocks[block]);
	}
}

/* What more or less flow would cost on the way that an edge or a block is. */
struct way {
	uint32_t from, to;
	double price;
};

static size_t add_way(struct way *ways, size_t count, uint32_t from, uint32_t to, double price)
{
	ways[count] = (struct way){ from, to, price };
	return count + 1;
}

static size_t add_edge(struct way *ways, size_t count, const struct flow_edge *edge, double price,
		       double flow)
{
	uint32_t from = edge->from == FLOW_OUTSIDE ? 0 : 2 * edge->from + 2;
	uint32_t to = edge->to == FLOW_OUTSIDE ? 0 : 2 * edge->to + 1;
	count = add_way(ways, count, from, to, price);
	return flow > 0 ? add_way(ways, count, to, from, -price) : count;
}

/* All ways to change the flow a little; nodes: outside, then where a block begins and ends. */
static size_t ways_to_change(const struct question *question, const struct flow_least *least,
			     struct way *ways)
{
	const struct flow_graph *graph = &question->graph;
	size_t count = 0;
	for (size_t i = 0; i < graph->edge_count; i++)
		count = add_edge(ways, count, &graph->edges[i], question->edge_prices[i],
				 least->edges[i]);
	for (size_t i = 0; i < question->made_up_count; i++)
		count = add_edge(ways, count, &question->made_up[i], question->made_up_price,
				 least->made_up[i]);
	for (uint32_t block = 0; block < graph->block_count; block++) {
		const struct flow_least_target *target = &question->targets[block];
		double flow = least->blocks[block];
		double more = flow < target->count ? -target->below_price : target->above_price;
		double less = flow > target->count ? -target->above_price : target->below_price;
		count = add_way(ways, count, 2 * block + 1, 2 * block + 2, more);
		if (flow > 0)
			count = add_way(ways, count, 2 * block + 2, 2 * block + 1, less);
	}
	return count;
}

/*
 * Whether potentials exist with price + potential(from) - potential(to) >= 0 on all ways
 * (complementary slackness): shortest paths of Bellman and Ford, in whole numbers.
 */
static bool potentials_exist(const struct question *question, const struct flow_least *least)
{
	struct way ways[2 * (MOST_EDGES + MOST_MADE_UP + MOST_BLOCKS)];
	double potential[2 * MOST_BLOCKS + 1] = { 0 };
	size_t count = ways_to_change(question, least, ways);
	uint32_t nodes = 2 * question->graph.block_count + 1;
	for (uint32_t round = 0; round <= nodes; round++) {
		bool changed = false;
		for (size_t i = 0; i < count; i++) {
			double reached = potential[ways[i].from] + ways[i].price;
			if (reached < potential[ways[i].to]) {
				potential[ways[i].to] = reached;
				changed = true;
			}
		}
		if (!changed)
			return true;
	}
	return false;
}

static void flow_is_conserved_and_nothing_can_be_saved(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	size_t moved = 0;
	for (size_t round = 0; round < 10000; round++) {
		CLEANUP(question_release) struct question question;
		CLEANUP(flow_least_release) struct flow_least least = { 0 };
		ask(&question, (uint32_t)random_below(&random, MOST_BLOCKS + 1), &random);
		answer(&question, &least);
		assert_circulation(&question, &least);
		if (!potentials_exist(&question, &least))
			fail_msg("round %zu: a cheaper flow exists", round);
		moved += least.pivots > 0;
	}
	assert_true(moved > 9000);
}

/*
 * The same as a linear program, solved by the tableau with Bland's rule: edges x >= 0,
 * more u >= 0 and less d >= 0 of each block,
 *   into - out_of <= 0, out_of - into <= 0 (slacks are the basis), into - u + d = target.
 */
#define LP_BLOCKS  7
#define LP_ROWS	   (3 * LP_BLOCKS)
#define LP_COLUMNS (MOST_EDGES + MOST_MADE_UP + 4 * LP_BLOCKS + 1)

struct tableau {
	double cells[LP_ROWS + 1]
		    [LP_COLUMNS]; /* the last row: reduced prices, and minus the cost */
	size_t rows, columns;	  /* without the right side, which is the last column */
	size_t basis[LP_ROWS];
};

static void tableau_pivot(struct tableau *t, size_t row, size_t column)
{
	double by = t->cells[row][column];
	for (size_t j = 0; j <= t->columns; j++)
		t->cells[row][j] /= by;
	for (size_t i = 0; i <= t->rows; i++) {
		double times = t->cells[i][column];
		for (size_t j = 0; i != row && times != 0 && j <= t->columns; j++)
			t->cells[i][j] -= times * t->cells[row][j];
	}
	t->basis[row] = column;
}

static double tableau_least(struct tableau *t)
{
	for (;;) {
		size_t column = 0, row = t->rows;
		while (column < t->columns && t->cells[t->rows][column] > -1e-9)
			column++;
		if (column == t->columns)
			return -t->cells[t->rows][t->columns];
		double least = INFINITY;
		for (size_t i = 0; i < t->rows; i++) {
			if (t->cells[i][column] < 1e-9)
				continue;
			double ratio = t->cells[i][t->columns] / t->cells[i][column];
			if (ratio < least - 1e-12 ||
			    (ratio < least + 1e-12 && t->basis[i] < t->basis[row])) {
				least = ratio;
				row = i;
			}
		}
		assert_true(row < t->rows); /* prices >= 0: never without a bound */
		tableau_pivot(t, row, column);
	}
}

static double program_cost(const struct question *question)
{
	static struct tableau t;
	const struct flow_graph *graph = &question->graph;
	size_t n = graph->block_count, m = graph->edge_count + question->made_up_count;
	t = (struct tableau){ .rows = 3 * n, .columns = m + 4 * n };
	double *prices = t.cells[t.rows];
	for (size_t edge = 0; edge < m; edge++) {
		bool real = edge < graph->edge_count;
		const struct flow_edge *e =
			real ? &graph->edges[edge] : &question->made_up[edge - graph->edge_count];
		prices[edge] = real ? question->edge_prices[edge] : question->made_up_price;
		if (e->to != FLOW_OUTSIDE) {
			t.cells[e->to][edge] += 1;
			t.cells[n + e->to][edge] -= 1;
			t.cells[2 * n + e->to][edge] = 1;
		}
		if (e->from != FLOW_OUTSIDE) {
			t.cells[e->from][edge] -= 1;
			t.cells[n + e->from][edge] += 1;
		}
	}
	for (size_t block = 0; block < n; block++) {
		const struct flow_least_target *target = &question->targets[block];
		bool none = target->above_price == 0 && target->below_price == 0;
		t.cells[block][m + block] = t.cells[n + block][m + n + block] = 1;
		t.basis[block] = m + block;
		t.basis[n + block] = m + n + block;
		t.cells[2 * n + block][m + 2 * n + block] = -1;
		t.cells[2 * n + block][m + 3 * n + block] = 1;
		t.cells[2 * n + block][t.columns] = none ? 0 : target->count;
		t.basis[2 * n + block] = m + 3 * n + block;
		prices[m + 2 * n + block] = target->above_price;
		prices[m + 3 * n + block] = target->below_price;
	}
	for (size_t row = 2 * n; row < t.rows; row++) { /* the basis has reduced prices of 0 */
		double times = prices[t.basis[row]];
		for (size_t j = 0; j <= t.columns; j++)
			prices[j] -= times * t.cells[row][j];
	}
	return tableau_least(&t);
}

/* Replaces whole numbers by any, over nine orders of magnitude. */
static void make_real(struct question *question, struct random_state *random)
{
	for (uint32_t block = 0; block < question->graph.block_count; block++) {
		struct flow_least_target *target = &question->targets[block];
		target->count *= random_unit(random);
		target->above_price *= random_unit(random) * 1e4;
		target->below_price *= random_unit(random) * 1e4;
	}
	for (size_t edge = 0; edge < question->graph.edge_count; edge++)
		question->edge_prices[edge] *= random_unit(random) * 1e-5;
}

static void the_cost_is_that_of_a_linear_program(void **state)
{
	(void)state;
	struct random_state random = random_seed(12);
	double total = 0;
	for (size_t round = 0; round < 3000; round++) {
		CLEANUP(question_release) struct question question;
		CLEANUP(flow_least_release) struct flow_least least = { 0 };
		ask(&question, (uint32_t)random_below(&random, LP_BLOCKS + 1), &random);
		if (round % 2)
			make_real(&question, &random);
		answer(&question, &least);
		assert_circulation(&question, &least);
		double expected = program_cost(&question);
		if (fabs(least.cost - expected) > 1e-9 * (1 + expected))
			fail_msg("round %zu: cost %.17g, not %.17g", round, least.cost, expected);
		total += expected;
	}
	assert_true(total > 0);
}

static void add(struct flow_graph *graph, uint32_t from, uint32_t to, enum flow_edge_kind kind)
{
	assert_int_equal(flow_graph_add(graph, from, to, kind), 0);
}

/* Entry to 0, which goes to 1 or 2, both to 3, which returns. */
static void diamond(struct flow_graph *graph)
{
	flow_graph_init(graph, 4);
	add(graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	add(graph, 0, 1, FLOW_NEXT);
	add(graph, 0, 2, FLOW_BRANCH);
	add(graph, 1, 3, FLOW_BRANCH);
	add(graph, 2, 3, FLOW_NEXT);
	add(graph, 3, FLOW_OUTSIDE, FLOW_RETURN);
	assert_int_equal(flow_graph_settle(graph), 0);
}

static void the_dearest_estimates_win(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	diamond(&graph);
	/* 100 = 30 + f: moving block 2 from 50 to 70 is cheaper than anything else */
	const struct flow_least_target targets[] = {
		{ 100, 5, 5 }, { 30, 9, 9 }, { 50, 2, 3 }, { 100, 5, 5 }
	};
	assert_int_equal(solve(&graph, targets, NULL, &least), 0);
	assert_true(least.blocks[0] == 100 && least.blocks[1] == 30 && least.blocks[2] == 70 &&
		    least.blocks[3] == 100);
	assert_true(least.cost == 40);
}

static void a_price_below_differs_from_one_above(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	flow_graph_init(&graph, 2);
	add(&graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	add(&graph, 0, 1, FLOW_NEXT);
	add(&graph, 1, FLOW_OUTSIDE, FLOW_RETURN);
	assert_int_equal(flow_graph_settle(&graph), 0);
	for (int cheap_below = 0; cheap_below < 2; cheap_below++) {
		CLEANUP(flow_least_release) struct flow_least least = { 0 };
		const struct flow_least_target targets[] = { { 10, 3, 3 },
							     { 20, 3, cheap_below ? 2 : 4 } };
		assert_int_equal(solve(&graph, targets, NULL, &least), 0);
		assert_true(least.blocks[0] == (cheap_below ? 10 : 20));
		assert_true(least.cost == (cheap_below ? 20 : 30));
	}
}

static void blocks_without_a_target_take_what_flows_by(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	diamond(&graph);
	const struct flow_least_target targets[] = {
		{ 100, 1, 1 }, { 30, 1, 1 }, { NAN, 0, 0 }, { NAN, 0, 0 }
	};
	assert_int_equal(solve(&graph, targets, NULL, &least), 0);
	assert_true(least.blocks[2] == 70 && least.blocks[3] == 100 && least.cost == 0);
}

static void edges_with_a_price_are_gone_round(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	diamond(&graph);
	for (uint32_t dear = 1; dear <= 2; dear++) {
		CLEANUP(flow_least_release) struct flow_least least = { 0 };
		const struct flow_least_target targets[] = {
			{ 64, 1, 1 }, { NAN, 0, 0 }, { NAN, 0, 0 }, { NAN, 0, 0 }
		};
		double prices[6] = { 0 };
		prices[flow_graph_into(&graph, dear).list[0]] = 1e-3;
		assert_int_equal(solve(&graph, targets, prices, &least), 0);
		assert_true(least.blocks[dear] == 0 && least.blocks[3 - dear] == 64);
	}
}

static void a_loop_that_cannot_be_left_keeps_its_flow(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	flow_graph_init(&graph, 3);
	add(&graph, FLOW_OUTSIDE, 0, FLOW_ENTRY);
	add(&graph, 0, 1, FLOW_NEXT);
	add(&graph, 1, 2, FLOW_NEXT);
	add(&graph, 2, 1, FLOW_BRANCH);
	assert_int_equal(flow_graph_settle(&graph), 0);
	const struct flow_least_target targets[] = { { 1, 1, 1 }, { 1000, 1, 1 }, { 1008, 1, 1 } };
	const struct flow_edge out = { 2, FLOW_OUTSIDE, FLOW_NO_RETURN };
	assert_int_equal(solve(&graph, targets, NULL, &least), 0);
	assert_true(least.blocks[0] == 0); /* what enters would have to leave */
	assert_true(least.blocks[1] == least.blocks[2] && least.blocks[1] >= 1000 &&
		    least.blocks[1] <= 1008);
	assert_true(least.cost == 9);

	CLEANUP(flow_least_release) struct flow_least left = { 0 };
	struct flow_least_input input = { .graph = &graph,
					  .targets = targets,
					  .made_up = &out,
					  .made_up_count = 1,
					  .made_up_price = 0.25 };
	assert_int_equal(flow_least_new(&input, &left), 0);
	assert_true(left.blocks[0] == 1 && left.made_up[0] == 1 && left.cost == 8.25);
}

static void a_graph_of_no_blocks_has_no_flow(void **state)
{
	(void)state;
	CLEANUP(flow_graph_release) struct flow_graph graph;
	CLEANUP(flow_least_release) struct flow_least least = { 0 };
	flow_graph_init(&graph, 0);
	assert_int_equal(flow_graph_settle(&graph), 0);
	assert_int_equal(solve(&graph, NULL, NULL, &least), 0);
	assert_true(least.is_least && least.cost == 0);
}

/* Also says that rounding follows the numbers' size: nothing depends on the unit. */
static void equal_questions_have_equal_answers_in_any_unit(void **state)
{
	(void)state;
	struct random_state random = random_seed(13);
	for (size_t round = 0; round < 500; round++) {
		CLEANUP(question_release) struct question question;
		CLEANUP(flow_least_release) struct flow_least first = { 0 }, second = { 0 };
		uint32_t blocks = 1 + (uint32_t)random_below(&random, MOST_BLOCKS);
		ask(&question, blocks, &random);
		make_real(&question, &random);
		answer(&question, &first);
		int count_unit = (int)random_below(&random, 401) - 200;
		int price_unit = (int)random_below(&random, 401) - 200;
		for (uint32_t block = 0; block < blocks; block++) {
			struct flow_least_target *target = &question.targets[block];
			target->count = ldexp(target->count, count_unit);
			target->above_price = ldexp(target->above_price, price_unit);
			target->below_price = ldexp(target->below_price, price_unit);
		}
		question.made_up_price = ldexp(question.made_up_price, price_unit);
		for (size_t edge = 0; edge < question.graph.edge_count; edge++)
			question.edge_prices[edge] = ldexp(question.edge_prices[edge], price_unit);
		answer(&question, &second);
		for (uint32_t block = 0; block < blocks; block++)
			assert_true(ldexp(first.blocks[block], count_unit) == second.blocks[block]);
		for (size_t edge = 0; edge < question.graph.edge_count; edge++)
			assert_true(ldexp(first.edges[edge], count_unit) == second.edges[edge]);
		assert_true(first.pivots == second.pivots);
	}
}

static void at_the_limit_there_is_a_flow_and_it_is_said(void **state)
{
	(void)state;
	struct random_state random = random_seed(14);
	CLEANUP(question_release) struct question question;
	ask(&question, MOST_BLOCKS, &random);
	CLEANUP(flow_least_release) struct flow_least full = { 0 };
	answer(&question, &full);
	assert_true(full.pivots > 20);
	double last = INFINITY;
	size_t stops = 0;
	for (uint64_t limit = 1;; stops++) {
		CLEANUP(flow_least_release) struct flow_least least = { 0 };
		assert_int_equal(solve_within(&question, limit, &least), 0);
		assert_circulation(&question, &least);
		assert_true(least.cost <= last);
		last = least.cost;
		if (least.is_least)
			break;
		assert_true(least.steps >= limit && least.steps < full.steps);
		limit = least.steps + 1; /* one exchange more */
	}
	assert_int_equal(stops, full.pivots);
	assert_true(last == full.cost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_is_conserved_and_nothing_can_be_saved),
		cmocka_unit_test(the_cost_is_that_of_a_linear_program),
		cmocka_unit_test(the_dearest_estimates_win),
		cmocka_unit_test(a_price_below_differs_from_one_above),
		cmocka_unit_test(blocks_without_a_target_take_what_flows_by),
		cmocka_unit_test(edges_with_a_price_are_gone_round),
		cmocka_unit_test(a_loop_that_cannot_be_left_keeps_its_flow),
		cmocka_unit_test(a_graph_of_no_blocks_has_no_flow),
		cmocka_unit_test(equal_questions_have_equal_answers_in_any_unit),
		cmocka_unit_test(at_the_limit_there_is_a_flow_and_it_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
