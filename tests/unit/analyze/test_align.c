/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "analyze/compare/align.h"
#include "base/random.h"

#define MOST 60

/* Length of a longest common subsequence, by the book. */
static unsigned longest(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	unsigned table[MOST + 1][MOST + 1] = { 0 };
	for (size_t i = 1; i <= a_count; i++)
		for (size_t k = 1; k <= b_count; k++) {
			unsigned skip = table[i - 1][k] > table[i][k - 1] ? table[i - 1][k]
									  : table[i][k - 1];
			table[i][k] = a[i - 1] == b[k - 1] ? table[i - 1][k - 1] + 1 : skip;
		}
	return table[a_count][b_count];
}

/* Partners rise, are equal tokens, and are as many as can be. */
static void pairs_are_a_longest_common_subsequence(void **state)
{
	(void)state;
	struct random_state random = random_seed(1);
	for (int run = 0; run < 3000; run++) {
		uint64_t a[MOST], b[MOST], letters = 1 + random_below(&random, 8);
		uint32_t partner[MOST];
		size_t a_count = random_below(&random, MOST + 1);
		size_t b_count = random_below(&random, MOST + 1);
		int cut;
		for (size_t i = 0; i < a_count; i++)
			a[i] = random_below(&random, letters);
		for (size_t i = 0; i < b_count; i++)
			b[i] = random_below(&random, letters);
		assert_int_equal(align_tokens(a, a_count, b, b_count, partner, &cut), 0);
		assert_int_equal(cut, 0);
		unsigned pairs = 0;
		uint32_t next = 0;
		for (size_t i = 0; i < a_count; i++) {
			if (partner[i] == ALIGN_NONE)
				continue;
			assert_true(partner[i] >= next && partner[i] < b_count);
			assert_int_equal(a[i], b[partner[i]]);
			next = partner[i] + 1;
			pairs++;
		}
		assert_int_equal(pairs, longest(a, a_count, b, b_count));
	}
}

/* Two long sequences with nothing in common but their ends are not gone through. */
static void what_is_too_long_is_cut(void **state)
{
	(void)state;
	enum { COUNT = 40000 };
	uint64_t *a = calloc(COUNT, sizeof(*a)), *b = calloc(COUNT, sizeof(*b));
	uint32_t *partner = calloc(COUNT, sizeof(*partner));
	assert_true(a && b && partner);
	for (uint64_t i = 10; i < COUNT - 10; i++) {
		a[i] = i + 1;
		b[i] = i + 1 + COUNT;
	}
	int cut;
	assert_int_equal(align_tokens(a, COUNT, b, COUNT, partner, &cut), 0);
	assert_int_equal(cut, 1);
	assert_int_equal(partner[9], 9);
	assert_int_equal(partner[10], ALIGN_NONE);
	assert_int_equal(partner[COUNT - 1], COUNT - 1);
	free(a);
	free(b);
	free(partner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_a_longest_common_subsequence),
		cmocka_unit_test(what_is_too_long_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
