#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/flow/sparse_chain.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"

#define MOST_NODES 40
#define MOST_EDGES 200

/* A chain whose nodes each lead to some others, with probabilities as they come. */
struct subject {
	uint32_t node_count;
	struct sparse_edge edges[MOST_EDGES];
	double probabilities[MOST_EDGES];
	size_t count;
};

static void add(struct subject *subject, uint32_t from, uint32_t to, double probability)
{
	subject->edges[subject->count] = (struct sparse_edge){ from, to };
	subject->probabilities[subject->count++] = probability;
}

static struct subject draw(struct random_state *random)
{
	struct subject subject = { .node_count = 1 + (uint32_t)random_below(random, MOST_NODES) };
	for (uint32_t node = 0; node < subject.node_count; node++) {
		double left = 1;
		for (uint64_t i = random_below(random, 4); i > 0; i--) {
			double some = left * random_unit(random);
			/* twice between the same two, and to itself, too */
			add(&subject, node, (uint32_t)random_below(random, subject.node_count),
			    some);
			left -= some;
		}
		add(&subject, node, SPARSE_GROUND, left);
	}
	return subject;
}

/* Fills `chain`, which the caller releases. */
static void factor(struct sparse_chain *chain, const struct subject *subject)
{
	assert_int_equal(
		sparse_chain_analyse(chain, subject->node_count, subject->edges, subject->count),
		0);
	assert_int_equal(sparse_chain_factor(chain, subject->probabilities), 0);
}

static void assert_near(double value, double expected, double tolerance)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%.17g, expected %.17g", value, expected);
}

static void visits_and_values_solve_their_equations(void **state)
{
	(void)state;
	CLEANUP(sparse_chain_release) struct sparse_chain chain = { 0 };
	struct random_state random = random_seed(1);
	for (unsigned round = 0; round < 2000; round++) {
		struct subject subject = draw(&random);
		double starts[MOST_NODES], visits[MOST_NODES], flow[MOST_NODES];
		double gains[MOST_NODES], values[MOST_NODES], gained[MOST_NODES];
		for (uint32_t node = 0; node < subject.node_count; node++) {
			starts[node] = visits[node] = flow[node] = random_unit(&random);
			gains[node] = values[node] = gained[node] = random_unit(&random) - 0.5;
		}
		factor(&chain, &subject);
		sparse_chain_visits(&chain, visits);
		sparse_chain_values(&chain, values);
		for (size_t i = 0; i < subject.count; i++) {
			uint32_t from = subject.edges[i].a, to = subject.edges[i].b;
			if (to == SPARSE_GROUND)
				continue;
			flow[to] += visits[from] * subject.probabilities[i];
			gained[from] += subject.probabilities[i] * values[to];
		}
		double paid = 0, received = 0;
		for (uint32_t node = 0; node < subject.node_count; node++) {
			assert_near(visits[node], flow[node], 1e-12 * flow[node]);
			assert_near(values[node], gained[node], 1e-9);
			paid += visits[node] * gains[node];
			received += values[node] * starts[node];
		}
		assert_near(paid, received, 1e-9); /* each is the other's adjoint */
	}
}

/* A loop that is left once in 1e12 times, and inside one that is left once in 1e12 trips. */
static void loops_that_hardly_end_keep_their_digits(void **state)
{
	(void)state;
	CLEANUP(sparse_chain_release) struct sparse_chain chain = { 0 };
	const double seldom = 1e-12;
	struct subject subject = { .node_count = 4 };
	add(&subject, 0, 1, 1);
	add(&subject, 1, 2, 1);
	add(&subject, 2, 1, 1 - seldom);
	add(&subject, 2, 3, seldom);
	add(&subject, 3, 0, 1 - seldom);
	add(&subject, 3, SPARSE_GROUND, seldom);
	factor(&chain, &subject);
	double visits[4] = { 3, 0, 0, 0 };
	sparse_chain_visits(&chain, visits);
	assert_near(visits[3], 3e12, 1e-2);
	assert_near(visits[0], 3e12, 1e-2);
	assert_near(visits[1], 3e24, 1e10);
	assert_near(visits[2], 3e24, 1e10);
}

static void a_chain_without_an_end_is_refused(void **state)
{
	(void)state;
	CLEANUP(sparse_chain_release) struct sparse_chain chain = { 0 };
	struct subject subject = { .node_count = 3 };
	add(&subject, 0, 1, 0.5);
	add(&subject, 0, SPARSE_GROUND, 0.5);
	add(&subject, 1, 2, 1);
	add(&subject, 2, 1, 1);
	assert_int_equal(sparse_chain_analyse(&chain, 3, subject.edges, subject.count), 0);
	assert_int_equal(sparse_chain_factor(&chain, subject.probabilities), -EDOM);
	struct subject alone = { .node_count = 1 };
	add(&alone, 0, 0, 1);
	assert_int_equal(sparse_chain_analyse(&chain, 1, alone.edges, alone.count), 0);
	assert_int_equal(sparse_chain_factor(&chain, alone.probabilities), -EDOM);
	assert_int_equal(sparse_chain_analyse(&chain, 0, NULL, 0), 0);
	assert_int_equal(sparse_chain_factor(&chain, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(visits_and_values_solve_their_equations),
		cmocka_unit_test(loops_that_hardly_end_keep_their_digits),
		cmocka_unit_test(a_chain_without_an_end_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
