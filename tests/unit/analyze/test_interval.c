/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>

#include "analyze/figures/interval.h"
#include "base/random.h"
#include "support/poisson.h"
#include "support/test_profile.h"

#define RUNS 4000

static void add_sample(struct cell *cell, uint64_t weight)
{
	struct cell one = test_cell(1, weight);
	cell_add(cell, &one);
}

struct tally {
	unsigned runs, held;
};

static void count(struct tally *tally, struct estimate estimate, double truth)
{
	if (estimate.kind != ESTIMATE_INTERVAL)
		return;
	tally->runs++;
	tally->held += estimate.low <= truth && truth <= estimate.high;
}

/* In 93 to 97 % of the runs; the standard error of the share itself is 0.35 %. */
static void assert_coverage(const char *what, double mean, const struct tally *tally)
{
	double share = (double)tally->held / tally->runs;
	if (tally->runs < RUNS * 99 / 100 || share < 0.93 || share > 0.97)
		fail_msg("%s with %g samples: the interval held the truth in %.2f %% of %u runs",
			 what, mean, 100 * share, tally->runs);
}

static void intervals_of_totals_hold_the_truth(void **state)
{
	(void)state;
	static const double means[] = { 12, 40, 300 };
	for (size_t m = 0; m < 3; m++) {
		struct random_state random = random_seed(m);
		struct tally tally = { 0 };
		for (int run = 0; run < RUNS; run++) {
			struct cell cell = test_cell(poisson(&random, means[m]), 1000);
			count(&tally, interval_total(&cell), means[m] * 1000);
		}
		assert_coverage("total", means[m], &tally);
	}
}

static void intervals_of_totals_hold_the_truth_with_uneven_weights(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	struct tally tally = { 0 };
	for (int run = 0; run < RUNS; run++) {
		struct cell cell = { 0 };
		for (uint64_t n = poisson(&random, 200); n > 0; n--)
			add_sample(&cell, 500 + random_below(&random, 1001)); /* mean 1000 */
		count(&tally, interval_total(&cell), 200 * 1000);
	}
	assert_coverage("uneven total", 200, &tally);
}

static void intervals_of_shares_hold_the_truth(void **state)
{
	(void)state;
	static const double means[] = { 15, 60, 400 }; /* of 1000 */
	for (size_t m = 0; m < 3; m++) {
		struct random_state random = random_seed(10 + m);
		struct tally tally = { 0 };
		for (int run = 0; run < RUNS; run++) {
			struct cell part = test_cell(poisson(&random, means[m]), 1000);
			struct cell whole = test_cell(poisson(&random, 1000 - means[m]), 1000);
			cell_add(&whole, &part);
			count(&tally, interval_share(&part, &whole), means[m] / 1000);
		}
		assert_coverage("share", means[m], &tally);
	}
}

static void intervals_of_cpi_hold_the_truth_for_independent_events(void **state)
{
	(void)state;
	static const double means[] = { 20, 100, 1000 };
	for (size_t m = 0; m < 3; m++) {
		struct random_state random = random_seed(20 + m);
		struct tally tally = { 0 };
		for (int run = 0; run < RUNS; run++) {
			struct cell cycles = test_cell(poisson(&random, means[m]), 1000003);
			struct cell instructions =
				test_cell(poisson(&random, 2 * means[m]), 500000);
			count(&tally, interval_ratio(&cycles, &instructions, RATIO_INDEPENDENT),
			      1000003.0 / 1000000.0);
		}
		assert_coverage("CPI", means[m], &tally);
	}
}

/* Each sample of cycles reads how many instructions ran since the last one. */
static void intervals_of_cpi_hold_the_truth_for_groups(void **state)
{
	(void)state;
	static const double means[] = { 20, 60, 500 };
	for (size_t m = 0; m < 3; m++) {
		struct random_state random = random_seed(30 + m);
		struct tally tally = { 0 };
		for (int run = 0; run < RUNS; run++) {
			struct cell cycles = { 0 }, instructions = { 0 };
			for (uint64_t n = poisson(&random, means[m]); n > 0; n--) {
				add_sample(&cycles, 1000000);
				add_sample(&instructions, 200000 + random_below(&random, 600001));
			}
			instructions.samples = 0; /* it has none of its own */
			count(&tally, interval_ratio(&cycles, &instructions, RATIO_GROUPED), 2.0);
		}
		assert_coverage("grouped CPI", means[m], &tally);
	}
}

/* The period is drawn anew with each window, so that a reading of many cycles has many
 * instructions. Delayed samples, which stand for twice that, read as few as others. */
static void intervals_of_cpi_hold_the_truth_for_groups_of_random_periods(void **state)
{
	(void)state;
	static const double means[] = { 20, 60, 500 };
	for (unsigned delayed = 0; delayed < 2; delayed++) {
		struct random_state random = random_seed(40 + delayed);
		for (size_t m = 0; m < 3; m++) {
			struct tally tally = { 0 };
			for (int run = 0; run < RUNS; run++) {
				struct cell cycles = { 0 }, instructions = { 0 };
				uint64_t sixteenths = 0;
				uint64_t n = poisson(&random, means[m]);
				for (uint64_t i = 0; i < n; i++) {
					if (i % 30 == 0)
						sixteenths = 8 + random_below(&random, 17);
					bool late = delayed && random_below(&random, 10) == 0;
					add_sample(&cycles, 62500 * sixteenths * (late ? 2 : 1));
					add_sample(&instructions,
						   sixteenths *
							   (12500 + random_below(&random, 37501)));
				}
				instructions.samples = 0;
				count(&tally, interval_ratio(&cycles, &instructions, RATIO_GROUPED),
				      delayed ? 2.2 : 2);
			}
			double share = (double)tally.held / tally.runs;
			if (share < 0.93)
				fail_msg("grouped CPI, %g samples%s: held in %.2f %%", means[m],
					 delayed ? ", some delayed" : "", 100 * share);
			printf("%g samples%s: held in %.2f %%\n", means[m],
			       delayed ? ", some delayed" : "", 100 * share);
		}
	}
}

static void a_group_is_known_better_than_independent_events(void **state)
{
	(void)state;
	struct cell cycles = test_cell(400, 1000000);
	struct cell instructions = test_cell(400, 500000);
	instructions.samples = 0;
	struct estimate apart = interval_ratio(&cycles, &instructions, RATIO_INDEPENDENT);
	struct estimate grouped = interval_ratio(&cycles, &instructions, RATIO_GROUPED);
	assert_true(apart.high - apart.low > 0.5);
	/* all readings were equal: nothing is left to be uncertain of */
	assert_true(grouped.high - grouped.low < 1e-6);
	assert_true(fabs(grouped.value - 2) < 1e-12);
}

static void what_has_no_samples_has_no_value(void **state)
{
	(void)state;
	struct cell none = { 0 }, some = test_cell(10, 100);
	assert_int_equal(interval_ratio(&some, &none, RATIO_INDEPENDENT).kind, ESTIMATE_ABSENT);
	assert_int_equal(interval_ratio(&none, &some, RATIO_GROUPED).kind, ESTIMATE_ABSENT);
	assert_int_equal(interval_share(&none, &none).kind, ESTIMATE_ABSENT);
	assert_int_equal(interval_inverse(interval_share(&none, &none)).kind, ESTIMATE_ABSENT);
}

static void counts_without_a_variance_have_a_value_only(void **state)
{
	(void)state;
	struct cell part = { .estimate = 30 }, whole = { .estimate = 120 };
	struct estimate share = interval_share(&part, &whole);
	assert_int_equal(share.kind, ESTIMATE_VALUE);
	assert_true(share.value == 0.25);
	assert_int_equal(interval_ratio(&part, &whole, RATIO_INDEPENDENT).kind, ESTIMATE_VALUE);
	assert_int_equal(interval_total(&whole).kind, ESTIMATE_VALUE);
	assert_true(cell_standard_error(&whole) < 0);
	assert_true(cell_effective_samples(&whole) == 0);
}

static void ends_of_a_share_stay_within_0_and_1(void **state)
{
	(void)state;
	struct cell whole = test_cell(50, 7), none = { 0 };
	struct estimate all = interval_share(&whole, &whole);
	struct estimate nothing = interval_share(&none, &whole);
	assert_true(all.value == 1 && all.high <= 1 && all.low < 1 && all.low > 0.9);
	assert_true(nothing.value == 0 && nothing.low == 0 && nothing.high > 0 &&
		    nothing.high < 0.1);
}

static void sums_saturate(void **state)
{
	(void)state;
	struct cell a = { UINT64_MAX - 1, UINT64_MAX - 1, ~(unsigned __int128)0 - 1 };
	struct cell b = { 5, 5, 5 };
	cell_add(&a, &b);
	assert_true(a.samples == UINT64_MAX && a.estimate == UINT64_MAX &&
		    a.squares == ~(unsigned __int128)0);
	struct cell left = cell_without(&b, &a);
	assert_true(left.samples == 0 && left.estimate == 0 && left.squares == 0);
}

static void the_inverse_swaps_the_ends(void **state)
{
	(void)state;
	struct estimate cpi = { ESTIMATE_INTERVAL, 2, 1, 4 };
	struct estimate ipc = interval_inverse(cpi);
	assert_true(ipc.value == 0.5 && ipc.low == 0.25 && ipc.high == 1);
}

static void squares_that_no_samples_have_give_no_interval(void **state)
{
	(void)state;
	struct cell one = test_cell(1, 100), whole = test_cell(50, 7);
	struct cell wild = { 9, 100, (unsigned __int128)1 << 127 };
	assert_true(cell_effective_samples(&one) == 1);
	assert_true(cell_effective_samples(&wild) == 0);
	assert_true(cell_standard_error(&wild) < 0);
	assert_int_equal(interval_total(&wild).kind, ESTIMATE_VALUE);
	assert_int_equal(interval_share(&wild, &wild).kind, ESTIMATE_VALUE);
	static const enum ratio_samples kinds[] = { RATIO_INDEPENDENT, RATIO_GROUPED };
	for (size_t i = 0; i < 2; i++) {
		struct estimate ratio = interval_ratio(&wild, &whole, kinds[i]);
		assert_int_equal(ratio.kind, ESTIMATE_VALUE);
		assert_int_equal(interval_inverse(ratio).kind, ESTIMATE_VALUE);
	}
}

static void a_part_above_its_whole_has_no_share(void **state)
{
	(void)state;
	struct cell whole = test_cell(50, 7), more = test_cell(51, 7);
	assert_int_equal(interval_share(&more, &whole).kind, ESTIMATE_ABSENT);
}

static void bounds_that_are_not_finite_are_none(void **state)
{
	(void)state;
	struct estimate wide = { ESTIMATE_INTERVAL, 2, 0, 1e300 };
	struct estimate inverse = interval_inverse(wide);
	assert_int_equal(inverse.kind, ESTIMATE_VALUE);
	assert_true(inverse.value == 0.5 && inverse.low == 0.5 && inverse.high == 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_of_totals_hold_the_truth),
		cmocka_unit_test(intervals_of_totals_hold_the_truth_with_uneven_weights),
		cmocka_unit_test(intervals_of_shares_hold_the_truth),
		cmocka_unit_test(intervals_of_cpi_hold_the_truth_for_independent_events),
		cmocka_unit_test(intervals_of_cpi_hold_the_truth_for_groups),
		cmocka_unit_test(intervals_of_cpi_hold_the_truth_for_groups_of_random_periods),
		cmocka_unit_test(a_group_is_known_better_than_independent_events),
		cmocka_unit_test(what_has_no_samples_has_no_value),
		cmocka_unit_test(counts_without_a_variance_have_a_value_only),
		cmocka_unit_test(ends_of_a_share_stay_within_0_and_1),
		cmocka_unit_test(sums_saturate),
		cmocka_unit_test(the_inverse_swaps_the_ends),
		cmocka_unit_test(squares_that_no_samples_have_give_no_interval),
		cmocka_unit_test(a_part_above_its_whole_has_no_share),
		cmocka_unit_test(bounds_that_are_not_finite_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
