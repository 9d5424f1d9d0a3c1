/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "analyze/flow/flow_simplex.h"
#include "base/random.h"

#define NODES 24
#define ARCS  (NODES - 1 + 80)

/* A node joined to the root by an arc of its own; `flow` 0 makes the start degenerate. */
static void hang(struct simplex_arc *arcs, struct simplex_join *joins, uint32_t node,
		 struct random_state *random)
{
	bool up = random_below(random, 2);
	int64_t flow = random_below(random, 2) ? (int64_t)random_below(random, 4) : 0;
	up = up || flow == 0;
	arcs[node - 1] = (struct simplex_arc){ up ? node : SIMPLEX_ROOT, up ? SIMPLEX_ROOT : node,
					       (int64_t)random_below(random, 4) };
	joins[node] = (struct simplex_join){ SIMPLEX_ROOT, node - 1, up, flow };
}

static void make(struct simplex_arc *arcs, struct simplex_join *joins, struct random_state *random)
{
	for (uint32_t node = 1; node < NODES; node++)
		hang(arcs, joins, node, random);
	for (size_t i = NODES - 1; i < ARCS; i++) {
		arcs[i].from = (uint32_t)random_below(random, NODES);
		arcs[i].to = (uint32_t)random_below(random, NODES);
		arcs[i].price = (int64_t)random_below(random, 4);
	}
}

/* What each node gives, less what it takes. */
static void balance(const struct simplex_join *joins, int64_t *given)
{
	for (uint32_t node = 0; node < NODES; node++)
		given[node] = 0;
	for (uint32_t node = 1; node < NODES; node++) {
		int64_t flow = joins[node].up ? joins[node].flow : -joins[node].flow;
		given[node] += flow;
		given[joins[node].parent] -= flow;
	}
}

/* Strongly feasible (Cunningham): an arc of the tree without flow goes towards the root. */
static void assert_strongly_feasible(const struct simplex_join *joins)
{
	for (uint32_t node = 1; node < NODES; node++) {
		uint32_t above = node;
		for (size_t steps = 0; above != SIMPLEX_ROOT; steps++) {
			assert_true(steps < NODES);
			above = joins[above].parent;
		}
		assert_true(joins[node].flow > 0 || (joins[node].flow == 0 && joins[node].up));
	}
}

static void each_step_leaves_a_strongly_feasible_tree(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	size_t steps = 0;
	for (size_t round = 0; round < 300; round++) {
		struct simplex_arc arcs[ARCS];
		struct simplex_join start[NODES] = { 0 };
		int64_t given[NODES];
		make(arcs, start, &random);
		balance(start, given);
		for (uint64_t limit = 0;;) {
			struct simplex_join joins[NODES];
			int64_t now[NODES];
			for (size_t i = 0; i < NODES; i++)
				joins[i] = start[i];
			struct simplex simplex = { .node_count = NODES,
						   .arcs = arcs,
						   .arc_count = ARCS,
						   .joins = joins,
						   .step_limit = limit };
			assert_int_equal(simplex_solve(&simplex), 0);
			assert_strongly_feasible(joins);
			balance(joins, now);
			assert_memory_equal(now, given, sizeof(now));
			steps++;
			if (simplex.cheapest)
				break;
			limit = simplex.steps + 1;
		}
	}
	assert_true(steps > 3000);
}

static void the_price_limit_leaves_room_for_all_sums(void **state)
{
	(void)state;
	assert_true(simplex_price_limit(1) < INT64_MAX / 5);
	assert_true(simplex_price_limit(40001) > (int64_t)1 << 45);
	assert_true(simplex_price_limit(UINT32_MAX) > (int64_t)1 << 28);
}

/* Each price at the limit: a sum that went over would be found by the sanitizers or be wrong. */
static void the_dearest_prices_do_not_overflow(void **state)
{
	(void)state;
	struct random_state random = random_seed(4);
	for (size_t round = 0; round < 300; round++) {
		struct simplex_arc arcs[2][ARCS];
		struct simplex_join joins[2][NODES] = { 0 };
		size_t pivots[2];
		make(arcs[0], joins[0], &random);
		for (size_t i = 0; i < ARCS; i++) {
			arcs[1][i] = arcs[0][i];
			arcs[1][i].price *= simplex_price_limit(NODES) / 3;
		}
		for (size_t i = 0; i < NODES; i++)
			joins[1][i] = joins[0][i];
		for (size_t k = 0; k < 2; k++) {
			struct simplex simplex = { .node_count = NODES,
						   .arcs = arcs[k],
						   .arc_count = ARCS,
						   .joins = joins[k],
						   .step_limit = UINT64_MAX };
			assert_int_equal(simplex_solve(&simplex), 0);
			assert_true(simplex.cheapest);
			pivots[k] = simplex.pivots;
		}
		assert_int_equal(pivots[0], pivots[1]);
		for (size_t i = 1; i < NODES; i++)
			assert_true(joins[0][i].flow == joins[1][i].flow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_leaves_a_strongly_feasible_tree),
		cmocka_unit_test(the_price_limit_leaves_room_for_all_sums),
		cmocka_unit_test(the_dearest_prices_do_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
