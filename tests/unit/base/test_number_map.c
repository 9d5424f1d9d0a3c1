#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hash.h"
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

/* What splitmix64's finaliser makes `hash` of. */
static uint64_t unhash(uint64_t hash)
{
	hash ^= hash >> 31 ^ hash >> 62;
	hash *= UINT64_C(0x319642b2d24d8ec3);
	hash ^= hash >> 27 ^ hash >> 54;
	hash *= UINT64_C(0x96de1b173f119089);
	return hash ^ hash >> 30 ^ hash >> 60;
}

static void keys_that_a_stranger_chose_do_not_share_a_place(void **state)
{
	(void)state;
	size_t together = 0;
	for (uint64_t i = 1; i <= 1000; i++) {
		assert_int_equal(hash_u64_stable(unhash(i << 40)), i << 40);
		together += (hash_u64(unhash(i << 40)) & 1023) == 0;
	}
	assert_true(together < 50); /* one is expected */
	assert_true(hash_bytes("text", 4) != hash_bytes_stable("text", 4));
	assert_true(hash128_of_text("text", 4).high != hash128_bytes("text", 4).high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_and_go),
		cmocka_unit_test(keys_that_a_stranger_chose_do_not_share_a_place)
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
