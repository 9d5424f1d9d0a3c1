/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flow/sparse_ldl.h"
#include "base/cleanup.h"
#include "base/random.h"

#define MOST_NODES 60
#define MOST_EDGES 200

struct network {
	uint32_t nodes;
	size_t edges;
	struct sparse_edge edge[MOST_EDGES];
	double weight[MOST_EDGES];
};

static void add(struct network *network, uint32_t a, uint32_t b, double weight)
{
	assert_true(network->edges < MOST_EDGES);
	network->edge[network->edges] = (struct sparse_edge){ a, b };
	network->weight[network->edges++] = weight;
}

/* Weights of 10^-decades/2 to 10^decades/2. */
static double some_weight(struct random_state *random, double decades)
{
	return pow(10, (random_unit(random) - 0.5) * decades);
}

/* A chain, so that all is one part, with other edges and ways to the ground. */
static struct network some_network(struct random_state *random, double decades)
{
	struct network network = { .nodes = 1 + (uint32_t)random_below(random, MOST_NODES) };
	for (uint32_t node = 1; node < network.nodes; node++)
		add(&network, node, (uint32_t)random_below(random, node),
		    some_weight(random, decades));
	size_t more = random_below(random, 100);
	for (size_t i = 0; i < more; i++) {
		uint32_t a = (uint32_t)random_below(random, network.nodes);
		uint32_t b = (uint32_t)random_below(random, network.nodes);
		add(&network, a, a == b ? SPARSE_GROUND : b, some_weight(random, decades));
	}
	add(&network, SPARSE_GROUND, (uint32_t)random_below(random, network.nodes),
	    some_weight(random, decades));
	return network;
}

/* The inverse by Cholesky's A = C C^T, dense, in twice the digits' type where there is one. */
static void invert(const struct network *network, long double inverse[MOST_NODES][MOST_NODES])
{
	static long double c[MOST_NODES][MOST_NODES];
	uint32_t n = network->nodes;
	memset(c, 0, sizeof(c));
	for (size_t i = 0; i < network->edges; i++) {
		uint32_t a = network->edge[i].a, b = network->edge[i].b;
		if (a != SPARSE_GROUND)
			c[a][a] += network->weight[i];
		if (b != SPARSE_GROUND)
			c[b][b] += network->weight[i];
		if (a != SPARSE_GROUND && b != SPARSE_GROUND)
			c[a > b ? a : b][a > b ? b : a] -= network->weight[i];
	}
	for (uint32_t j = 0; j < n; j++) {
		for (uint32_t k = 0; k < j; k++)
			for (uint32_t i = j; i < n; i++)
				c[i][j] -= c[i][k] * c[j][k];
		assert_true(c[j][j] > 0);
		long double root = sqrtl(c[j][j]);
		for (uint32_t i = j; i < n; i++)
			c[i][j] /= root;
	}
	for (uint32_t column = 0; column < n; column++) {
		long double x[MOST_NODES] = { 0 };
		x[column] = 1;
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t k = 0; k < i; k++)
				x[i] -= c[i][k] * x[k];
			x[i] /= c[i][i];
		}
		for (uint32_t i = n; i-- > 0;) {
			for (uint32_t k = i + 1; k < n; k++)
				x[i] -= c[k][i] * x[k];
			x[i] /= c[i][i];
		}
		for (uint32_t i = 0; i < n; i++)
			inverse[i][column] = x[i];
	}
}

static void assert_near(const char *what, double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s is %.17g, expected %.17g", what, value, expected);
}

static void prepare(struct sparse_ldl *ldl, const struct network *network)
{
	assert_int_equal(sparse_ldl_analyse(ldl, network->nodes, network->edge, network->edges), 0);
	assert_int_equal(sparse_ldl_factor(ldl, network->weight), 0);
}

static void assert_as_dense(struct sparse_ldl *ldl, const struct network *network,
			    struct random_state *random, double tolerance)
{
	static long double inverse[MOST_NODES][MOST_NODES];
	double values[MOST_NODES], by_node[MOST_NODES], by_edge[MOST_EDGES];
	invert(network, inverse);
	assert_int_equal(ldl->loose_count, 0);

	long double expected[MOST_NODES] = { 0 };
	double size[MOST_NODES] = { 0 };
	for (uint32_t a = 0; a < network->nodes; a++)
		values[a] = random_unit(random) - 0.5;
	for (uint32_t a = 0; a < network->nodes; a++)
		for (uint32_t b = 0; b < network->nodes; b++) {
			expected[a] += inverse[a][b] * values[b];
			size[a] += (double)fabsl(inverse[a][b] * values[b]);
		}
	sparse_ldl_differences(ldl, values, by_edge);
	for (size_t i = 0; i < network->edges; i++) {
		uint32_t a = network->edge[i].a, b = network->edge[i].b;
		long double difference = (a == SPARSE_GROUND ? 0 : expected[a]) -
					 (b == SPARSE_GROUND ? 0 : expected[b]);
		double terms =
			(a == SPARSE_GROUND ? 0 : size[a]) + (b == SPARSE_GROUND ? 0 : size[b]);
		assert_near("difference", by_edge[i], (double)difference, tolerance * terms);
	}
	sparse_ldl_solve(ldl, values);
	for (uint32_t a = 0; a < network->nodes; a++)
		assert_near("solution", values[a], (double)expected[a], tolerance * size[a]);

	sparse_ldl_resistances(ldl, by_edge, by_node);
	for (uint32_t a = 0; a < network->nodes; a++)
		assert_near("inverse", by_node[a], (double)inverse[a][a],
			    tolerance * (double)inverse[a][a]);
	for (size_t i = 0; i < network->edges; i++) {
		uint32_t a = network->edge[i].a, b = network->edge[i].b;
		if (a == SPARSE_GROUND || b == SPARSE_GROUND) {
			a = a == SPARSE_GROUND ? b : a;
			assert_near("resistance to ground", by_edge[i], (double)inverse[a][a],
				    tolerance * (double)inverse[a][a]);
			continue;
		}
		double resistance = (double)(inverse[a][a] + inverse[b][b] - 2 * inverse[a][b]);
		assert_near("resistance", by_edge[i], resistance, tolerance * resistance);
	}
}

static void agrees_with_dense_cholesky(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(1);
	for (size_t round = 0; round < 500; round++) {
		struct network network = some_network(&random, 4);
		prepare(&ldl, &network);
		assert_as_dense(&ldl, &network, &random, 1e-12);
	}
}

/* Other weights, the same network: numeric only. */
static void factors_again_with_other_weights(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(2);
	struct network network = some_network(&random, 4);
	prepare(&ldl, &network);
	for (size_t round = 0; round < 20; round++) {
		for (size_t i = 0; i < network.edges; i++)
			network.weight[i] = some_weight(&random, 4);
		assert_int_equal(sparse_ldl_factor(&ldl, network.weight), 0);
		assert_as_dense(&ldl, &network, &random, 1e-12);
	}
}

/* Any symmetric matrix can be told; what is not positive definite is refused. */
static void takes_negative_conductances(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(3);
	/* 5 1 1 / 1 5 1 / 1 1 5 */
	struct network network = { .nodes = 3 };
	for (uint32_t a = 0; a < 3; a++) {
		add(&network, a, SPARSE_GROUND, 7);
		add(&network, a, (a + 1) % 3, -1);
	}
	prepare(&ldl, &network);
	assert_as_dense(&ldl, &network, &random, 1e-14);
	network.weight[0] = 1; /* -1 1 1 / ... */
	assert_int_equal(sparse_ldl_factor(&ldl, network.weight), -EDOM);
	network.weight[0] = NAN;
	assert_int_equal(sparse_ldl_factor(&ldl, network.weight), -EDOM);
}

/*
 * A ring of conductances about 1 that hangs on the ground by 1e-20: the inverse is
 * 1e20 everywhere, so that differences of its entries have no digit left.
 */
static void keeps_its_digits_near_singularity(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(4);
	for (size_t round = 0; round < 100; round++) {
		struct network network = { .nodes = MOST_NODES };
		double around = 0, by_node[MOST_NODES], by_edge[MOST_EDGES];
		for (uint32_t a = 0; a < MOST_NODES; a++) {
			add(&network, a, (a + 1) % MOST_NODES, some_weight(&random, 4));
			around += 1 / network.weight[a];
		}
		add(&network, (uint32_t)random_below(&random, MOST_NODES), SPARSE_GROUND, 1e-20);
		prepare(&ldl, &network);
		assert_int_equal(ldl.loose_count, 0);
		sparse_ldl_resistances(&ldl, by_edge, by_node);
		for (uint32_t a = 0; a < MOST_NODES; a++) {
			double r = 1 / network.weight[a];
			double expected = r * (1 - r / around);
			assert_near("resistance in the ring", by_edge[a], expected,
				    1e-12 * expected);
			assert_near("inverse", by_node[a], 1e20, 1e8);
		}
		/* 1 into the ring and 2 out of it: potentials of -1e20, differences below 1e4 */
		double values[MOST_NODES] = { [7] = 1, [30] = -2 }, circle = 0, flow[MOST_NODES];
		sparse_ldl_differences(&ldl, values, by_edge);
		assert_near("potential of the ground", fabs(by_edge[MOST_NODES]), 1e20, 1e8);
		for (uint32_t a = 0; a < MOST_NODES; a++) {
			circle += by_edge[a];
			flow[a] = by_edge[a] * network.weight[a];
		}
		assert_near("sum around the ring", circle, 0, 1e-11 * around);
		uint32_t tied = network.edge[MOST_NODES].a;
		for (uint32_t a = 0; a < MOST_NODES; a++) {
			double sent = values[a] + (a == tied);
			assert_near("flow", flow[a], flow[(a + MOST_NODES - 1) % MOST_NODES] + sent,
				    1e-11);
		}
	}
}

static void weights_may_differ_by_thirty_decades(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct random_state random = random_seed(5);
	for (size_t round = 0; round < 300; round++) {
		/* a chain to the ground: all resistances are sums */
		struct network network = { .nodes = 40 };
		double expected[40], by_node[40], by_edge[MOST_EDGES], sum = 0;
		uint32_t label[40];
		for (uint32_t a = 0; a < 40; a++) {
			uint32_t other = (uint32_t)random_below(&random, a + 1);
			label[a] = label[other];
			label[other] = a;
		}
		for (uint32_t a = 0; a < 40; a++) {
			double weight = some_weight(&random, 30);
			add(&network, label[a], a ? label[a - 1] : SPARSE_GROUND, weight);
			sum += 1 / weight;
			expected[label[a]] = sum;
		}
		prepare(&ldl, &network);
		sparse_ldl_resistances(&ldl, by_edge, by_node);
		for (uint32_t a = 0; a < 40; a++) {
			assert_near("sum of resistances", by_node[a], expected[a],
				    1e-13 * expected[a]);
			assert_near("resistance", by_edge[a], 1 / network.weight[a],
				    1e-13 / network.weight[a]);
		}
	}
}

static void empty_and_single(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	assert_int_equal(sparse_ldl_analyse(&ldl, 0, NULL, 0), 0);
	assert_int_equal(sparse_ldl_factor(&ldl, NULL), 0);
	sparse_ldl_solve(&ldl, NULL);
	sparse_ldl_resistances(&ldl, NULL, NULL);

	struct network one = { .nodes = 1 };
	double value = 3, by_edge, by_node;
	add(&one, 0, SPARSE_GROUND, 4);
	prepare(&ldl, &one);
	sparse_ldl_solve(&ldl, &value);
	sparse_ldl_resistances(&ldl, &by_edge, &by_node);
	assert_true(value == 0.75 && by_edge == 0.25 && by_node == 0.25);

	struct network bare = { .nodes = 1 };
	prepare(&ldl, &bare);
	value = 0;
	sparse_ldl_solve(&ldl, &value);
	sparse_ldl_resistances(&ldl, NULL, &by_node);
	assert_int_equal(ldl.loose_count, 1);
	assert_true(value == 0 && isinf(by_node));
}

/* Two parts with ground, two rings without. */
static void parts_do_not_touch_each_other(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	struct network network = { .nodes = 10 };
	double values[10] = { 1, 0, 2, 0, 1, -1, 0, 0, 3, -3 }, by_node[10], by_edge[MOST_EDGES];
	add(&network, 0, SPARSE_GROUND, 1); /* edge 0 */
	add(&network, 0, 1, 1);
	add(&network, 2, SPARSE_GROUND, 0.5);
	add(&network, 3, 2, 1);
	for (uint32_t a = 4; a < 7; a++) /* edges 4 to 6 */
		add(&network, a, a == 6 ? 4 : a + 1, 1);
	for (uint32_t a = 7; a < 10; a++) /* edges 7 to 9 */
		add(&network, a, a == 9 ? 7 : a + 1, 2);
	prepare(&ldl, &network);
	assert_int_equal(ldl.loose_count, 2);
	sparse_ldl_solve(&ldl, values);
	assert_near("part", values[1], 1, 1e-15);
	assert_near("part", values[3], 4, 1e-15);
	assert_near("loose part", values[4] - values[5], 2.0 / 3, 1e-15);
	assert_near("loose part", values[8] - values[9], 1, 1e-15);
	sparse_ldl_resistances(&ldl, by_edge, by_node);
	assert_near("resistance to ground", by_node[3], 3, 1e-15);
	for (uint32_t a = 4; a < 10; a++)
		assert_true(isinf(by_node[a]));
	for (size_t i = 4; i < 10; i++)
		assert_near("ring", by_edge[i], i < 7 ? 2.0 / 3 : 1.0 / 3, 1e-15);
}

static void order_is_a_permutation_with_little_fill(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	enum { SIDE = 40, NODES = SIDE * SIDE };
	struct sparse_edge *edges = calloc(2 * NODES, sizeof(*edges));
	bool *seen = calloc(NODES, sizeof(*seen));
	assert_true(edges && seen);
	size_t count = 0;
	for (uint32_t a = 0; a < NODES; a++) {
		if (a % SIDE)
			edges[count++] = (struct sparse_edge){ a, a - 1 };
		if (a >= SIDE)
			edges[count++] = (struct sparse_edge){ a, a - SIDE };
	}
	assert_int_equal(sparse_ldl_analyse(&ldl, NODES, edges, count), 0);
	for (uint32_t at = 0; at < NODES; at++) {
		assert_false(seen[ldl.columns.order.nodes[at]]);
		seen[ldl.columns.order.nodes[at]] = true;
	}
	/* in the order of the rows it is 62,000; nested dissection comes to about 18,000 */
	if (ldl.entry_count > 22000)
		fail_msg("%zu entries for a grid of 40 by 40", ldl.entry_count);
	free(edges);
	free(seen);
}

/* Hubs, which are ordered last, with many leaves and each other. */
static void hubs_cost_no_fill(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	enum { HUBS = 3, LEAVES = 30000, NODES = HUBS + LEAVES };
	struct sparse_edge *edges = calloc(3 * NODES, sizeof(*edges));
	double *weights = calloc(3 * NODES, sizeof(*weights)), *values = calloc(NODES, 8);
	double *wanted = calloc(NODES, sizeof(*wanted));
	struct random_state random = random_seed(7);
	assert_true(edges && weights && values && wanted);
	size_t count = 0;
	for (uint32_t a = 0; a < NODES; a++) {
		wanted[a] = random_unit(&random);
		if (a >= HUBS)
			edges[count++] = (struct sparse_edge){ a % HUBS, a };
		if (a >= HUBS && a + 1 < NODES)
			edges[count++] = (struct sparse_edge){ a, a + 1 };
		edges[count++] = (struct sparse_edge){ a, SPARSE_GROUND };
	}
	for (size_t i = 0; i < count; i++)
		weights[i] = 1;
	assert_int_equal(sparse_ldl_analyse(&ldl, NODES, edges, count), 0);
	assert_int_equal(sparse_ldl_factor(&ldl, weights), 0);
	if (ldl.entry_count > 5 * NODES)
		fail_msg("%zu entries", ldl.entry_count);
	for (size_t i = 0; i < count; i++) { /* A times wanted */
		uint32_t a = edges[i].a, b = edges[i].b;
		double fall = wanted[a] - (b == SPARSE_GROUND ? 0 : wanted[b]);
		values[a] += fall;
		if (b != SPARSE_GROUND)
			values[b] -= fall;
	}
	sparse_ldl_solve(&ldl, values);
	for (uint32_t a = 0; a < NODES; a++)
		assert_near("solution", values[a], wanted[a], 1e-10);
	free(wanted);
	free(edges);
	free(weights);
	free(values);
}

static void refuses_what_would_take_too_long(void **state)
{
	(void)state;
	CLEANUP(sparse_ldl_release) struct sparse_ldl ldl = { 0 };
	enum { NODES = 60000, EDGES = 4 * NODES };
	struct random_state random = random_seed(6);
	struct sparse_edge *edges = calloc(EDGES, sizeof(*edges));
	assert_non_null(edges);
	for (size_t i = 0; i < EDGES; i++) {
		edges[i].a = (uint32_t)random_below(&random, NODES - 1);
		edges[i].b =
			edges[i].a + 1 + (uint32_t)random_below(&random, NODES - edges[i].a - 1);
	}
	assert_int_equal(sparse_ldl_analyse(&ldl, NODES, edges, EDGES), -EFBIG);
	free(edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_dense_cholesky),
		cmocka_unit_test(factors_again_with_other_weights),
		cmocka_unit_test(takes_negative_conductances),
		cmocka_unit_test(keeps_its_digits_near_singularity),
		cmocka_unit_test(weights_may_differ_by_thirty_decades),
		cmocka_unit_test(empty_and_single),
		cmocka_unit_test(parts_do_not_touch_each_other),
		cmocka_unit_test(order_is_a_permutation_with_little_fill),
		cmocka_unit_test(hubs_cost_no_fill),
		cmocka_unit_test(refuses_what_would_take_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
