#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "base/random.h"
#include "collect/idle_interrupts.h"
#include "collect/period.h"
#include "collect/idle_cost.h"

#define SECOND UINT64_C(1000000000)

static const struct idle_cost cost = { .ns = 10000, .low_ns = 9000, .high_ns = 12000 };

static void near(double value, double wanted, double ratio)
{
	if (fabs(value - wanted) > ratio * wanted)
		fail_msg("%f is not %f", value, wanted);
}

/* 5000 a second for 10 s, each 10 us: an idle CPU is idle for 95 % of the time. */
static void all_busy_time_of_an_idle_cpu_is_explained(void **state)
{
	(void)state;
	struct idle_time time = { .interrupts = 50000,
				  .wall_ns = 10 * SECOND,
				  .idle_ns = 19 * SECOND / 2,
				  .shortfall_ns = SECOND / 2 };
	struct idle_interrupts idle = idle_interrupts_estimate(&time, &cost);
	near((double)idle.count, 50000, 1e-9);
	near((double)idle.ns, 0.5e9, 1e-9);
	assert_true(idle.low_ns < idle.ns);
	near((double)idle.low_ns, 0.45e9, 0.01);
	assert_int_equal(idle.high_ns, time.shortfall_ns);
}

static void half_idle_explains_half(void **state)
{
	(void)state;
	/* 5 s of work, 5 s of idling: a twentieth of that is interrupts, and 0.2 s are lost
	 * otherwise. */
	struct idle_time time = { .interrupts = 50000,
				  .wall_ns = 10 * SECOND,
				  .idle_ns = 19 * SECOND / 4,
				  .shortfall_ns = SECOND / 4 + SECOND / 5 };
	struct idle_interrupts idle = idle_interrupts_estimate(&time, &cost);
	near((double)idle.count, 25000, 1e-9);
	near((double)idle.ns, 0.25e9, 1e-9);
	near((double)idle.low_ns, 0.225e9, 0.01);
	near((double)idle.high_ns, 0.3e9, 0.02);
}

/* While a CPU idled its clock ticked more slowly: those interrupts are known, and the rest is of
 * the rest. */
static void interrupts_of_calm_time_are_counted_by_themselves(void **state)
{
	(void)state;
	/* 10 s as above, half idle, and 30 s in which 1,200 came */
	struct idle_time time = { .interrupts = 50000 + 1200,
				  .wall_ns = 40 * SECOND,
				  .idle_ns = 19 * SECOND / 4 + 30 * SECOND,
				  .calm_ns = 30 * SECOND,
				  .calm_interrupts = 1200,
				  .shortfall_ns = SECOND };
	near((double)idle_interrupts_estimate(&time, &cost).count, 25000 + 1200, 1e-9);
	/* nothing but calm time */
	struct idle_time calm = { .interrupts = 1200,
				  .wall_ns = 30 * SECOND,
				  .idle_ns = 30 * SECOND - 12000000,
				  .calm_ns = 30 * SECOND,
				  .calm_interrupts = 1200,
				  .shortfall_ns = SECOND };
	near((double)idle_interrupts_estimate(&calm, &cost).count, 1200, 1e-9);
	near((double)idle_interrupts_estimate(&calm, &cost).ns, 12e6, 1e-9);
}

static void a_busy_cpu_has_none(void **state)
{
	(void)state;
	struct idle_time time = { .interrupts = 50000,
				  .wall_ns = 10 * SECOND,
				  .shortfall_ns = SECOND };
	struct idle_interrupts idle = idle_interrupts_estimate(&time, &cost);
	assert_int_equal(idle.count, 0);
	assert_int_equal(idle.ns, 0);
	assert_int_equal(idle.high_ns, 0);
	time.idle_ns = time.wall_ns;
	time.interrupts = 0; /* nor one whose timer did not run */
	assert_int_equal(idle_interrupts_estimate(&time, &cost).high_ns, 0);
	time = (struct idle_time){ 0 };
	assert_int_equal(idle_interrupts_estimate(&time, &cost).count, 0);
}

static void never_more_than_there_is_to_explain(void **state)
{
	(void)state;
	struct random_state random = random_seed(5);
	for (int i = 0; i < 100000; i++) {
		struct idle_time time = { .interrupts = (double)random_below(&random, 2000000),
					  .wall_ns = random_below(&random, 10 * SECOND) };
		/* Idle time is known to a tick only: it may be more than there was. */
		time.idle_ns = random_below(&random, time.wall_ns + 20000000);
		time.shortfall_ns = random_below(&random, 2) * random_below(&random, SECOND);
		struct idle_interrupts idle = idle_interrupts_estimate(&time, &cost);
		assert_true(idle.low_ns <= idle.ns && idle.ns <= idle.high_ns);
		assert_true(idle.high_ns <= time.shortfall_ns);
		assert_true((double)idle.count <= time.interrupts + 0.5);
	}
}

/* The count from a schedule of random periods against a timer that is followed step by step. */
static void a_changing_period_interrupts_as_often_as_its_timer(void **state)
{
	(void)state;
	struct random_state random = random_seed(1);
	struct period_log log = { 0 };
	uint64_t now = 1000;
	uint64_t seen = 0;
	period_log_add(&log, now, 200000);
	assert_true(period_log_interrupts(&log, now) == 0);
	for (int change = 0; change < 2000; change++) {
		uint64_t until = now + 50000000 + random_below(&random, 100000000);
		seen += (until - now) / period_log_current(&log);
		now = until;
		period_log_add(&log, now, period_draw(&random, 200000));
	}
	near(period_log_interrupts(&log, now), (double)seen, 1e-4);
	double before = period_log_interrupts(&log, now);
	near(period_log_interrupts(&log, now + 100 * period_log_current(&log)) - before, 100, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_busy_time_of_an_idle_cpu_is_explained),
		cmocka_unit_test(half_idle_explains_half),
		cmocka_unit_test(interrupts_of_calm_time_are_counted_by_themselves),
		cmocka_unit_test(a_busy_cpu_has_none),
		cmocka_unit_test(never_more_than_there_is_to_explain),
		cmocka_unit_test(a_changing_period_interrupts_as_often_as_its_timer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
