#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "count/sides.h"

static void names_of_the_users_side_are_as_perf_writes_them(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "cycles", "cycles:u" },
		{ "cycles:pp", "cycles:ppu" },
		{ "r1c2", "r1c2:u" },
		{ "cpu/event=0x3c/", "cpu/event=0x3c/u" },
		{ "cpu/event=0x3c/p", "cpu/event=0x3c/pu" },
		/* what stands behind these colons is part of the name */
		{ "INST_RETIRED:ANY_P", "INST_RETIRED:ANY_P:u" },
		{ "sched:sched_switch", "sched:sched_switch:u" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s", cases[i][0]);
		name_user_side(name, sizeof(name));
		assert_string_equal(name, cases[i][1]);
	}
}

static void a_name_without_room_stays_within_it(void **state)
{
	(void)state;
	char name[8] = "cycles";
	name[7] = 'x';
	name_user_side(name, 7);
	assert_string_equal(name, "cycles");
	assert_int_equal(name[7], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_the_users_side_are_as_perf_writes_them),
		cmocka_unit_test(a_name_without_room_stays_within_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
