#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine/core_time.h"
#include "machine/event.h"

static uint64_t ran(const void *context, size_t event)
{
	return ((const uint64_t *)context)[event];
}

static void time_on_cores_of_other_types_is_known_from_what_ran_there(void **state)
{
	(void)state;
	const struct event mixed[] = {
		{ .core_type = "cpu_core" }, { .core_type = "cpu_atom" },
		{ .core_type = "cpu_atom" }, { .core_type = "cpu_lowpower" },
		{ .name = "task-clock" },
	};
	static const uint64_t times[] = { 70, 20, 25, 5, 100 };
	/* events of a type that took turns ran a part of the time on it each: the longest says most
	 */
	assert_int_equal(core_time_elsewhere_ns(mixed, 5, 0, ran, times), 30);
	assert_int_equal(core_time_elsewhere_ns(mixed, 5, 1, ran, times), 75);
	assert_int_equal(core_time_elsewhere_ns(mixed, 5, 2, ran, times), 75);
	assert_int_equal(core_time_elsewhere_ns(mixed, 5, 3, ran, times), 95);
	/* what counts everywhere, and where there is one type */
	assert_int_equal(core_time_elsewhere_ns(mixed, 5, 4, ran, times), 0);
	assert_int_equal(core_time_elsewhere_ns(mixed + 1, 2, 0, ran, times + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_on_cores_of_other_types_is_known_from_what_ran_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
