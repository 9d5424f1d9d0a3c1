#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/number_map.h"
#include "base/random.h"

static void entries_come_and_go(void **state)
{
	(void)state;
	CLEANUP(number_map_release) struct number_map map = { 0 };
	struct random_state random = random_seed(2);
	static int truth[1000];
	memset(truth, 0, sizeof(truth));
	size_t count = 0;
	for (int i = 0; i < 200000; i++) {
		uint64_t key = random_below(&random, 1000);
		if (random_below(&random, 2)) {
			count += !truth[key];
			truth[key] = i + 1;
			assert_int_equal(number_map_put(&map, key, &truth[key]), 0);
		} else {
			assert_ptr_equal(number_map_remove(&map, key),
					 truth[key] ? &truth[key] : NULL);
			count -= truth[key] != 0;
			truth[key] = 0;
		}
		assert_int_equal(map.count, count);
		uint64_t other = random_below(&random, 1000);
		assert_ptr_equal(number_map_find(&map, other), truth[other] ? &truth[other] : NULL);
	}
	size_t position = 0;
	size_t walked = 0;
	while (number_map_next(&map, &position))
		walked++;
	assert_int_equal(walked, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(entries_come_and_go) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
