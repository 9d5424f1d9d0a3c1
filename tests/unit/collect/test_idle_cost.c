#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "collect/idle_cost.h"

#define MS UINT64_C(1000000)

/* A timer of 50 us, each interrupt 7 us: of 100 ms, so much is not idle. */
static void the_cost_of_an_idle_cpu(void **state)
{
	(void)state;
	double ns;
	struct idle_window window = { .wall_ns = 100 * MS, .idle_ns = 86 * MS, .period_ns = 50000 };
	assert_true(idle_cost_of_window(&window, &ns));
	assert_true(fabs(ns - 7000) < 1e-6);
}

static void work_is_known_by_its_samples(void **state)
{
	(void)state;
	double ns;
	/* 40 ms of work, and 60 ms of idling with the same timer. */
	struct idle_window window = {
		.wall_ns = 100 * MS, .idle_ns = 516 * MS / 10, .period_ns = 50000, .samples = 800
	};
	assert_true(idle_cost_of_window(&window, &ns));
	assert_true(fabs(ns - 7000) < 1e-6);
	window.samples = 0; /* without them all would be the interrupts' */
	assert_true(idle_cost_of_window(&window, &ns));
	assert_true(ns > 20000);
}

static void a_busy_cpu_does_not_tell(void **state)
{
	(void)state;
	double ns;
	struct idle_window window = {
		.wall_ns = 100 * MS, .idle_ns = 20 * MS, .period_ns = 50000, .samples = 1500
	};
	assert_false(idle_cost_of_window(&window, &ns));
	window = (struct idle_window){ .wall_ns = 100 * MS, .idle_ns = 101 * MS, .period_ns = 1 };
	assert_false(idle_cost_of_window(&window, &ns));
	window = (struct idle_window){ 0 };
	assert_false(idle_cost_of_window(&window, &ns));
}

static void windows_give_the_median_and_what_they_spread_over(void **state)
{
	(void)state;
	double ns[] = { 7200, 6900, 30000, 7000, 6000 };
	struct idle_cost cost = { 1, 2, 3 };
	assert_false(idle_cost_of_windows(ns, 2, &cost));
	assert_true(cost.ns == 1);
	assert_true(idle_cost_of_windows(ns, 5, &cost));
	assert_true(cost.ns == 7000);
	assert_true(cost.low_ns == 6000);
	assert_true(cost.high_ns == 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cost_of_an_idle_cpu),
		cmocka_unit_test(work_is_known_by_its_samples),
		cmocka_unit_test(a_busy_cpu_does_not_tell),
		cmocka_unit_test(windows_give_the_median_and_what_they_spread_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
