#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "symbol/interval_map.h"

#define SPACE 64

/* The answer by looking at every interval. */
static uint32_t slow_owner(const struct interval *list, size_t count, uint64_t address)
{
	const struct interval *best = NULL;
	for (size_t i = 0; i < count; i++) {
		if (address < list[i].first || address > list[i].last)
			continue;
		if (!best || list[i].priority > best->priority ||
		    (list[i].priority == best->priority && list[i].owner < best->owner))
			best = &list[i];
	}
	return best ? best->owner : INTERVAL_NONE;
}

static void every_address_has_the_owner_of_highest_priority(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	for (int round = 0; round < 2000; round++) {
		struct interval list[24];
		size_t count = random_below(&random, 24);
		for (size_t i = 0; i < count; i++) {
			list[i].first = random_below(&random, SPACE);
			list[i].last = list[i].first + random_below(&random, SPACE / 2);
			list[i].priority = random_below(&random, 6);
			list[i].owner = (uint32_t)i;
		}
		CLEANUP(interval_map_release) struct interval_map map;
		assert_int_equal(interval_map_build(&map, list, count), 0);
		for (uint64_t address = 0; address < 2 * SPACE; address++)
			assert_int_equal(interval_map_owner(&map, address),
					 slow_owner(list, count, address));
		for (size_t i = 1; i < map.count; i++)
			assert_true(map.pieces[i].first > map.pieces[i - 1].last);
		const struct interval_piece *before = NULL;
		for (uint64_t address = 0; address < 2 * SPACE; address++) {
			const struct interval_piece *piece = interval_map_find(&map, address);
			before = piece ? piece : before;
			assert_ptr_equal(interval_map_before(&map, address), before);
		}
	}
}

static void the_last_address_of_all_can_be_owned(void **state)
{
	(void)state;
	struct interval list[] = { { 0, UINT64_MAX, 0, 0 }, { UINT64_MAX, UINT64_MAX, 1, 1 } };
	CLEANUP(interval_map_release) struct interval_map map;
	assert_int_equal(interval_map_build(&map, list, 2), 0);
	assert_int_equal(map.count, 2);
	assert_int_equal(interval_map_owner(&map, 0), 0);
	assert_int_equal(interval_map_owner(&map, UINT64_MAX - 1), 0);
	assert_int_equal(interval_map_owner(&map, UINT64_MAX), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_has_the_owner_of_highest_priority),
		cmocka_unit_test(the_last_address_of_all_can_be_owned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
