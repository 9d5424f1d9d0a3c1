#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "collect/period.h"

static void a_sample_weighs_the_period_of_its_time(void **state)
{
	(void)state;
	struct period_log log = { 0 };
	period_log_add(&log, 1000, 100);
	period_log_add(&log, 5000, 200);
	assert_int_equal(period_log_weight(&log, 1100), 100);
	assert_int_equal(period_log_weight(&log, 4999), 100);
	assert_int_equal(period_log_weight(&log, 6000), 200);
	assert_int_equal(period_log_current(&log), 200);
}

static void the_first_tick_stands_for_what_had_passed(void **state)
{
	(void)state;
	struct period_log log = { 0 };
	period_log_add(&log, 1000, 100);
	period_log_add(&log, 5000, 200);
	assert_int_equal(period_log_weight(&log, 5200), 250);
	assert_int_equal(period_log_weight(&log, 5400), 200);
}

static void the_first_tick_stands_for_what_its_maker_says(void **state)
{
	(void)state;
	struct period_log log = { 0 };
	period_log_add(&log, 1000, 100);
	assert_int_equal(period_log_owed(&log), 0);
	period_log_add_owing(&log, 1234, 200, 7);
	assert_int_equal(period_log_owed(&log), 7);
	assert_int_equal(period_log_weight(&log, 1434), 207);
	assert_int_equal(period_log_weight(&log, 1634), 200);
	period_log_add(&log, 1700, 100);
	assert_int_equal(period_log_owed(&log), 100);
}

static void a_timer_that_stood_still_did_not_interrupt(void **state)
{
	(void)state;
	struct period_log log = { 0 };
	period_log_add(&log, 1000, 100);
	period_log_skip(&log, 5000, 9000);
	assert_true(fabs(period_log_interrupts(&log, 11000) - 60) < 1e-9);
	/* it goes on with a period of its own */
	period_log_add(&log, 11000, 200);
	assert_true(fabs(period_log_interrupts(&log, 13000) - (60 - 0.5 + 10)) < 1e-9);
	struct period_log none = { 0 };
	period_log_skip(&none, 5000, 9000);
	assert_true(period_log_interrupts(&none, 9000) == 0);
}

static void only_the_last_changes_are_kept(void **state)
{
	(void)state;
	struct period_log log = { 0 };
	for (uint64_t i = 1; i <= 3 * PERIOD_LOG; i++)
		period_log_add(&log, 1000 * i, i);
	assert_int_equal(log.count, PERIOD_LOG);
	assert_int_equal(period_log_current(&log), 3 * PERIOD_LOG);
	assert_int_equal(period_log_weight(&log, 1000 * (3 * PERIOD_LOG - 1) + 500),
			 3 * PERIOD_LOG - 1);
}

/* Ticks of a changing period, seen only while the program is busy, must add up to busy time. */
static void weights_add_up_to_busy_time(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	double weighed = 0;
	double busy = 0;
	for (int run = 0; run < 2000; run++) {
		struct period_log log = { 0 };
		uint64_t now = 1000000 + random_below(&random, 10000);
		uint64_t next = 0;
		/* busy for the first 6.4 of each 10 us */
		for (int change = 0; change < 6; change++) {
			uint64_t period = period_draw(&random, 1000);
			period_log_add(&log, now, period);
			next = now + period;
			uint64_t end = now + 9000 + random_below(&random, 2000);
			for (; next <= end; next += period)
				if (next % 10000 < 6400)
					weighed += (double)period_log_weight(&log, next);
			for (uint64_t t = now; t < end; t++)
				busy += t % 10000 < 6400;
			now = end;
		}
	}
	/* The last period's rest has no next tick: half of one in 60000 ns of time. */
	assert_true(fabs(weighed / busy + 0.0083 - 1) < 0.004);
}

static void draws_are_uniform_around_the_mean(void **state)
{
	(void)state;
	struct random_state random = random_seed(5);
	double sum = 0;
	double inverse = 0;
	const int draws = 200000;
	for (int i = 0; i < draws; i++) {
		uint64_t period = period_draw(&random, 1000000);
		assert_in_range(period, 500000 - 32, 1500000);
		assert_int_equal(period % (2 * (1000000 / 32)), 0);
		sum += (double)period;
		inverse += 1e6 / (double)period;
	}
	assert_true(fabs(sum / draws / 1e6 - 1) < 0.003);
	assert_true(fabs(inverse / draws - 1.113507) < 0.004); /* 16/17 of the sum of 1/k, k = 8..24 */
	assert_true(period_draw(&random, 1) >= 1);
}

static void the_mean_period_gives_the_asked_rate(void **state)
{
	(void)state;
	assert_int_equal(period_mean_for(1e9, 1000, 0), 1000000);
	assert_int_equal(period_mean_for(1e9, 1000, 1), 1113507);
	assert_int_equal(period_mean_for(10, 1000, 1), 1);
}

static void fixed_periods_are_prime(void **state)
{
	(void)state;
	assert_int_equal(period_prime(1000000), 1000003);
	assert_int_equal(period_prime(1), 2);
	assert_int_equal(period_prime(1000003), 1000003);
	assert_int_equal(period_prime(10000000000) % 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_weighs_the_period_of_its_time),
		cmocka_unit_test(the_first_tick_stands_for_what_had_passed),
		cmocka_unit_test(the_first_tick_stands_for_what_its_maker_says),
		cmocka_unit_test(a_timer_that_stood_still_did_not_interrupt),
		cmocka_unit_test(only_the_last_changes_are_kept),
		cmocka_unit_test(weights_add_up_to_busy_time),
		cmocka_unit_test(draws_are_uniform_around_the_mean),
		cmocka_unit_test(the_mean_period_gives_the_asked_rate),
		cmocka_unit_test(fixed_periods_are_prime),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
