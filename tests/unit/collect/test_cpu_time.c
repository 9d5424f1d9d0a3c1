#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/cpu_time.h"

static const char stat[] = "cpu  10 20 30 40 50 60 70 80 0 0\n"
			   "cpu0 1 2 3 400 50 6 7 8 0 0\n"
			   "cpu12 1 2 3 900 100 6 7 9 0 0\n"
			   "intr 1 2 3\n"
			   "cpu3 1 2 3\n";

static void idle_and_iowait_are_idle(void **state)
{
	(void)state;
	const int cpus[] = { 12, 0, 3, 5 };
	struct cpu_time times[4];
	cpu_time_parse(span_of_text(stat), 77, 10, cpus, 4, times);
	assert_true(times[0].known);
	assert_int_equal(times[0].idle_ns, 10000);
	assert_int_equal(times[0].steal_ns, 90);
	assert_int_equal(times[0].wall_ns, 77);
	assert_int_equal(times[1].idle_ns, 4500);
}

static void a_cpu_without_a_whole_line_is_unknown(void **state)
{
	(void)state;
	const int cpus[] = { 3, 5 };
	struct cpu_time times[2];
	cpu_time_parse(span_of_text(stat), 77, 10, cpus, 2, times);
	assert_false(times[0].known);
	assert_false(times[1].known);
}

static void busy_is_wall_less_idle_and_never_negative(void **state)
{
	(void)state;
	struct cpu_time from = { 1, 1000, 500, 0 };
	struct cpu_time to = { 1, 2000, 700, 0 };
	assert_int_equal(cpu_time_busy_ns(&from, &to), 800);
	to.idle_ns = 1600;
	assert_int_equal(cpu_time_busy_ns(&from, &to), 0);
}

static void what_goes_back_in_the_books_did_not_pass(void **state)
{
	(void)state;
	struct cpu_time from = { 1, 1000, 500, 90 };
	struct cpu_time to = { 1, 2000, 490, 80 };
	assert_int_equal(cpu_time_idle_ns(&from, &to), 0);
	assert_int_equal(cpu_time_busy_ns(&from, &to), 1000);
	assert_int_equal(cpu_time_steal_ns(&from, &to), 0);
	to.steal_ns = 100;
	assert_int_equal(cpu_time_steal_ns(&from, &to), 10);
}

#define SECOND UINT64_C(1000000000)

/* Kernel 6.1 counted one absence of two as idle: 1.89 s of idle time around one of 1.88 s. */
static void idle_time_of_an_absence_is_found_or_unknown(void **state)
{
	(void)state;
	uint64_t offline = 77;
	/* busy while online: no idle time could hide the absence */
	assert_true(cpu_time_idle_offline(SECOND / 100, 2 * SECOND, 2 * SECOND, &offline));
	assert_int_equal(offline, 0);
	/* more idle time than the CPU was online */
	assert_true(
		cpu_time_idle_offline(189 * SECOND / 100, SECOND, 188 * SECOND / 100, &offline));
	assert_int_equal(offline, 188 * SECOND / 100);
	assert_true(cpu_time_idle_offline(18 * SECOND / 10, SECOND, 2 * SECOND, &offline));
	assert_int_equal(offline, 18 * SECOND / 10); /* never more than there is */
	/* three of four seconds idle, or one and the absence */
	assert_false(cpu_time_idle_offline(3 * SECOND, 4 * SECOND, 2 * SECOND, &offline));
	/* as much: the absence is short, or little beside the time online */
	assert_true(cpu_time_idle_offline(3 * SECOND, 4 * SECOND, SECOND / 10, &offline));
	assert_int_equal(offline, 0);
	assert_true(cpu_time_idle_offline(300 * SECOND, 400 * SECOND, 2 * SECOND, &offline));
	assert_int_equal(offline, 0);
	/* neither: books of another kind */
	assert_false(cpu_time_idle_offline(5 * SECOND, SECOND, 9 * SECOND, &offline));
	assert_false(cpu_time_idle_offline(3 * SECOND, 2 * SECOND, 4 * SECOND, &offline));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_and_iowait_are_idle),
		cmocka_unit_test(a_cpu_without_a_whole_line_is_unknown),
		cmocka_unit_test(busy_is_wall_less_idle_and_never_negative),
		cmocka_unit_test(what_goes_back_in_the_books_did_not_pass),
		cmocka_unit_test(idle_time_of_an_absence_is_found_or_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
