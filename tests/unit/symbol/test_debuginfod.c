#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbol/debuginfod.h"
#include "support/skip.h"

static const char *const names[] = { "DEBUGINFOD_MAXSIZE", "DEBUGINFOD_MAXTIME",
				     "DEBUGINFOD_TIMEOUT" };

static void start_and_end(void)
{
	struct debuginfod *debuginfod;
	if (debuginfod_new(&debuginfod, NULL) < 0)
		SKIP("libdebuginfod is not installed");
	debuginfod_free(debuginfod);
}

static void test_what_servers_send_has_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		unsetenv(names[i]);
	start_and_end();
	assert_string_equal(getenv(names[0]), "2147483648");
	assert_string_equal(getenv(names[1]), "120");
	assert_string_equal(getenv(names[2]), "30");
}

static void test_limits_of_the_user_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++)
		setenv(names[i], i ? "0" : "7", 1);
	start_and_end();
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(getenv(names[i]), i ? "0" : "7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_servers_send_has_limits),
		cmocka_unit_test(test_limits_of_the_user_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
