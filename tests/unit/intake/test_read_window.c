#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "intake/read_window.h"

static struct read_value value_of(uint64_t key, uint64_t value, uint64_t time, uint64_t epoch)
{
	return (struct read_value){ .id = 7,
				    .key = key,
				    .value = value,
				    .enabled = time,
				    .running = time,
				    .epoch = epoch };
}

static void expect(struct read_window *window, struct read_value value, int result, double events)
{
	double got;
	assert_int_equal(read_window_add(window, &value, &got), result);
	assert_true(got == events);
}

static void differences_go_to_the_sample_that_ends_them(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	expect(&window, value_of(0, 1000, 10, 0), READ_SPAN, 1000);
	expect(&window, value_of(0, 1500, 20, 0), READ_SPAN, 500);
	expect(&window, value_of(1, 80, 20, 0), READ_SPAN, 80);
	expect(&window, value_of(0, 1501, 30, 0), READ_SPAN, 1);
}

static void a_lost_sample_takes_its_span_with_it(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	expect(&window, value_of(0, 1000, 10, 0), READ_SPAN, 1000);
	expect(&window, value_of(0, 3000, 20, 1), READ_LOST, 2000);
	expect(&window, value_of(0, 3500, 30, 1), READ_SPAN, 500);
	expect(&window, value_of(3, 100, 30, 1), READ_LOST, 100);
}

static void a_thread_number_used_again_starts_at_zero(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	expect(&window, value_of(5, 1000, 10, 0), READ_SPAN, 1000);
	expect(&window, value_of(5, 30, 3, 0), READ_SPAN, 30);
}

static void a_thread_that_ended_is_forgotten_with_all_members(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	struct read_value other = value_of(5, 70, 10, 0);
	other.id = 8;
	read_window_forget(&window, 5); /* never seen */
	expect(&window, value_of(5, 1000, 10, 0), READ_SPAN, 1000);
	expect(&window, other, READ_SPAN, 70);
	expect(&window, value_of(6, 400, 10, 0), READ_SPAN, 400);
	read_window_forget(&window, 5);
	assert_int_equal(window.last.count, 1);
	/* whoever has its number then counts from 0, though it stands higher */
	expect(&window, value_of(5, 3000, 30, 0), READ_SPAN, 3000);
	other.value = 90;
	expect(&window, other, READ_SPAN, 90);
	expect(&window, value_of(6, 500, 20, 0), READ_SPAN, 100);
	for (uint64_t key = 100; key < 10000; key++) {
		expect(&window, value_of(key, 1, 1, 0), READ_SPAN, 1);
		read_window_forget(&window, key);
	}
	assert_int_equal(window.last.count, 2);
}

static void multiplexed_counts_are_scaled(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	struct read_value value = value_of(0, 1000, 100, 0);
	value.running = 50;
	expect(&window, value, READ_SPAN, 2000);
	value.enabled = 200; /* it did not run at all */
	expect(&window, value, READ_IDLE, 0);
}

static void many_counters_stay_apart(void **state)
{
	(void)state;
	CLEANUP(read_window_release) struct read_window window = { 0 };
	for (uint64_t round = 1; round <= 2; round++)
		for (uint64_t key = 0; key < 3000; key++)
			expect(&window, value_of(key, round * key, round, 0), READ_SPAN,
			       (double)key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_go_to_the_sample_that_ends_them),
		cmocka_unit_test(a_lost_sample_takes_its_span_with_it),
		cmocka_unit_test(a_thread_number_used_again_starts_at_zero),
		cmocka_unit_test(a_thread_that_ended_is_forgotten_with_all_members),
		cmocka_unit_test(multiplexed_counts_are_scaled),
		cmocka_unit_test(many_counters_stay_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
