#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "analyze/flow/minimise.h"

#define COUNT 50

static struct minimise_problem problem(minimise_function function, size_t count)
{
	static double ones[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		ones[i] = 1;
	return (struct minimise_problem){ .function = function,
					  .count = count,
					  .curvature = ones,
					  .most_evaluations = 2000,
					  .least_gain = 1e-13 };
}

/* Rosenbrock's valley, of many variables: narrow and bent; 0 at ones. */
static double valley(void *context, const double *x, double *gradient)
{
	double sum = 0;
	(void)context;
	for (size_t i = 0; i < COUNT; i++)
		gradient[i] = 0;
	for (size_t i = 0; i + 1 < COUNT; i++) {
		double off = x[i + 1] - x[i] * x[i], rest = 1 - x[i];
		sum += 100 * off * off + rest * rest;
		gradient[i] += -400 * off * x[i] - 2 * rest;
		gradient[i + 1] += 200 * off;
	}
	return sum;
}

static void the_end_of_a_bent_valley_is_found(void **state)
{
	(void)state;
	struct minimise_problem bent = problem(valley, COUNT);
	struct minimise_result result;
	double x[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		x[i] = 0;
	assert_int_equal(minimise(&bent, x, &result), 0);
	assert_true(result.converged);
	assert_true(result.evaluations < 500);
	for (size_t i = 0; i < COUNT; i++)
		if (!(fabs(x[i] - 1) < 1e-4))
			fail_msg("x[%zu] is %.17g, expected 1", i, x[i]);
}

/* sum c (x - 1)^2 / 2 with c over ten decades. */
static double steep(void *context, const double *x, double *gradient)
{
	const double *curvature = context;
	double sum = 0;
	for (size_t i = 0; i < COUNT; i++) {
		gradient[i] = curvature[i] * (x[i] - 1);
		sum += gradient[i] * (x[i] - 1) / 2;
	}
	return sum;
}

static void curvatures_that_are_known_make_it_one_step(void **state)
{
	(void)state;
	double curvature[COUNT], x[COUNT];
	struct minimise_problem known = problem(steep, COUNT);
	struct minimise_result result;
	for (size_t i = 0; i < COUNT; i++) {
		curvature[i] = pow(10, (double)(i % 11) - 5);
		x[i] = 0;
	}
	known.context = curvature;
	known.curvature = curvature;
	assert_int_equal(minimise(&known, x, &result), 0);
	assert_true(result.converged);
	assert_true(result.evaluations <= 4);
	for (size_t i = 0; i < COUNT; i++)
		if (!(fabs(x[i] - 1) < 1e-9))
			fail_msg("x[%zu] is %.17g, expected 1", i, x[i]);
}

/* x - log x, which has no value below 0; least at 1. */
static double walled(void *context, const double *x, double *gradient)
{
	(void)context;
	if (x[0] <= 0)
		return INFINITY;
	gradient[0] = 1 - 1 / x[0];
	return x[0] - log(x[0]);
}

static void where_there_is_no_value_nothing_goes(void **state)
{
	(void)state;
	struct minimise_problem wall = problem(walled, 1);
	struct minimise_result result;
	double x = 100, curvature = 1e-4; /* the first step would lead to -9800 */
	wall.curvature = &curvature;
	assert_int_equal(minimise(&wall, &x, &result), 0);
	assert_true(result.converged);
	if (!(fabs(x - 1) < 1e-5))
		fail_msg("x is %.17g, expected 1", x);
	x = -1;
	assert_int_equal(minimise(&wall, &x, &result), 0);
	assert_false(result.converged);
	assert_float_equal(x, -1, 0);
}

static void from_a_minimum_it_does_not_move(void **state)
{
	(void)state;
	struct minimise_problem bent = problem(valley, COUNT);
	struct minimise_result result;
	double x[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		x[i] = 1 + 1e-12;
	assert_int_equal(minimise(&bent, x, &result), 0);
	assert_true(result.converged);
	assert_int_equal(result.evaluations, 1);
	assert_float_equal(x[0], 1 + 1e-12, 0);
}

static void evaluations_are_bounded(void **state)
{
	(void)state;
	struct minimise_problem bent = problem(valley, COUNT);
	struct minimise_result result;
	double x[COUNT], gradient[COUNT];
	for (unsigned most = 1; most < 60; most++) {
		for (size_t i = 0; i < COUNT; i++)
			x[i] = 0;
		double before = valley(NULL, x, gradient);
		bent.most_evaluations = most;
		assert_int_equal(minimise(&bent, x, &result), 0);
		assert_false(result.converged);
		assert_true(result.evaluations <= most);
		assert_true(result.value <= before);
		assert_float_equal(valley(NULL, x, gradient), result.value, 0); /* the best */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_a_bent_valley_is_found),
		cmocka_unit_test(curvatures_that_are_known_make_it_one_step),
		cmocka_unit_test(where_there_is_no_value_nothing_goes),
		cmocka_unit_test(from_a_minimum_it_does_not_move),
		cmocka_unit_test(evaluations_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
