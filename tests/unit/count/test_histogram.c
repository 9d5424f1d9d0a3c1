#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/random.h"
#include "count/histogram.h"
#include "support/allocated.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void each_number_lies_in_its_bucket(void **state)
{
	(void)state;
	struct random_state random = random_seed(14);
	for (int i = 0; i < 200000; i++) {
		uint64_t value = random_u64(&random) >> random_below(&random, 64);
		size_t bucket = histogram_bucket(value);
		assert_true(bucket < HISTOGRAM_BUCKETS);
		assert_true(value >= histogram_low(bucket));
		assert_true(value - histogram_low(bucket) < histogram_width(bucket));
	}
	assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
	for (uint64_t value = 0; value < 32; value++)
		assert_int_equal(histogram_bucket(value), value);
}

static void buckets_follow_each_other_without_a_gap(void **state)
{
	(void)state;
	assert_int_equal(histogram_low(0), 0);
	for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(histogram_low(i) + histogram_width(i), histogram_low(i + 1));
		if (histogram_width(i) > 1)
			assert_true(histogram_width(i) <= histogram_low(i) / HISTOGRAM_PARTS);
	}
	assert_int_equal(histogram_low(HISTOGRAM_BUCKETS - 1) +
				 (histogram_width(HISTOGRAM_BUCKETS - 1) - 1),
			 UINT64_MAX);
}

/* Numbers as times are: most alike, some ten times as long, few a thousand times. */
static uint64_t draw(struct random_state *random)
{
	double unit = random_unit(random);
	return (uint64_t)(40 + 30 * random_unit(random) + 20 / (1.0001 - unit));
}

static void quantiles_are_those_of_the_numbers_to_1_in_16(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 2, 3, 99, 100, 1000, 100000 };
	static const double shares[] = { 0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1 };
	static uint64_t buckets[HISTOGRAM_BUCKETS];
	struct random_state random = random_seed(7);
	for (size_t s = 0; s < COUNT_OF(sizes); s++) {
		uint64_t *values = allocated(sizes[s], sizeof(*values));
		memset(buckets, 0, sizeof(buckets));
		for (size_t i = 0; i < sizes[s]; i++) {
			values[i] = draw(&random);
			buckets[histogram_bucket(values[i])]++;
		}
		qsort(values, sizes[s], sizeof(*values), compare);
		for (size_t q = 0; q < COUNT_OF(shares); q++) {
			size_t rank = (size_t)ceil(shares[q] * (double)sizes[s]);
			double exact = (double)values[rank ? rank - 1 : 0];
			double found = histogram_quantile(buckets, shares[q]);
			assert_true(fabs(found - exact) <= exact / 32);
		}
		free(values);
	}
}

static void an_empty_histogram_has_no_quantile(void **state)
{
	(void)state;
	static const uint64_t buckets[HISTOGRAM_BUCKETS];
	assert_true(isnan(histogram_quantile(buckets, 0.5)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_lies_in_its_bucket),
		cmocka_unit_test(buckets_follow_each_other_without_a_gap),
		cmocka_unit_test(quantiles_are_those_of_the_numbers_to_1_in_16),
		cmocka_unit_test(an_empty_histogram_has_no_quantile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
