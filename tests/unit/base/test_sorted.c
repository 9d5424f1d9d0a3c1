#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/sorted.h"

struct element {
	uint8_t before;
	uint64_t key;
	uint32_t behind;
};

static int compare(const void *left, const void *right)
{
	const struct element *a = left, *b = right;
	return (a->key > b->key) - (a->key < b->key);
}

static void positions_are_those_of_a_search_from_the_start(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct random_state random = random_seed(seed);
		struct element list[20];
		size_t count = random_below(&random, 21);
		/* Half of the keys several times, the greatest among them. */
		for (size_t i = 0; i < count; i++)
			list[i] = (struct element){ .key = random_below(&random, 12) };
		for (size_t i = 0; i < count; i++)
			if (list[i].key == 11)
				list[i].key = UINT64_MAX;
		qsort(list, count, sizeof(list[0]), compare);
		for (uint64_t wanted = 0; wanted <= 12; wanted++) {
			uint64_t key = wanted == 12 ? UINT64_MAX : wanted;
			size_t from = 0, behind = 0;
			while (from < count && list[from].key < key)
				from++;
			while (behind < count && list[behind].key <= key)
				behind++;
			assert_int_equal(SORTED_FROM(list, count, key, key), from);
			assert_int_equal(SORTED_BEHIND(list, count, key, key), behind);
		}
	}
}

static void nothing_is_in_an_empty_list(void **state)
{
	(void)state;
	const struct element *none = NULL;
	assert_int_equal(SORTED_FROM(none, 0, key, 0), 0);
	assert_int_equal(SORTED_BEHIND(none, 0, key, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(positions_are_those_of_a_search_from_the_start),
		cmocka_unit_test(nothing_is_in_an_empty_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
