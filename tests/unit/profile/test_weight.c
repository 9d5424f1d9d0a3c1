#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "profile/weight.h"

struct totals {
	uint64_t samples[4];
	uint64_t estimate[4];
	unsigned __int128 squares[4];
};

static int add_to_totals(void *context, uint32_t target, const struct cell *cell)
{
	struct totals *totals = context;
	totals->samples[target] += cell->samples;
	totals->estimate[target] += cell->estimate;
	totals->squares[target] += cell->squares;
	return 0;
}

static void a_window_hands_out_exactly_what_was_counted(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	for (int i = 0; i < 40; i++)
		assert_int_equal(weight_sample(&weight, i % 3), 0);
	assert_int_equal(weight_advance(&weight, 1000003, 0, add_to_totals, &totals, &lost), 0);
	assert_int_equal(totals.estimate[0] + totals.estimate[1] + totals.estimate[2], 1000003);
	assert_int_equal(totals.samples[0], 14);
	assert_int_equal(totals.samples[1], 13);
	assert_int_equal(lost, 0);
}

static void lost_samples_keep_their_share(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	for (int i = 0; i < 30; i++)
		assert_int_equal(weight_sample(&weight, 0), 0);
	assert_int_equal(weight_advance(&weight, 40000, 10, add_to_totals, &totals, &lost), 0);
	assert_int_equal(totals.estimate[0], 30000);
	assert_int_equal(lost, 10000);
}

static void a_window_waits_for_enough_samples(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	for (int drain = 0; drain < WEIGHT_WINDOW_SAMPLES - 1; drain++) {
		assert_int_equal(weight_sample(&weight, 0), 0);
		assert_int_equal(weight_advance(&weight, 100, 0, add_to_totals, &totals, &lost), 0);
		assert_int_equal(totals.samples[0], 0);
	}
	assert_int_equal(weight_flush(&weight, add_to_totals, &totals, &lost), 0);
	assert_int_equal(totals.samples[0], WEIGHT_WINDOW_SAMPLES - 1);
	assert_int_equal(totals.estimate[0], 100 * (WEIGHT_WINDOW_SAMPLES - 1));
}

static void a_count_without_samples_has_no_cell(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	assert_int_equal(weight_advance(&weight, 500, 0, add_to_totals, &totals, &lost), 0);
	assert_int_equal(weight_flush(&weight, add_to_totals, &totals, &lost), 0);
	assert_int_equal(totals.estimate[0], 0);
	assert_int_equal(lost, 0);
}

static void squares_are_those_of_the_weights(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	for (int i = 0; i < 50; i++)
		assert_int_equal(weight_sample(&weight, i < 20), 0);
	assert_int_equal(weight_advance(&weight, 5000, 0, add_to_totals, &totals, &lost), 0);
	assert_true(totals.squares[0] == 30 * 100 * 100);
	assert_true(totals.squares[1] == 20 * 100 * 100);
}

/*
 * One run: a steady function uses every cycle of the quiet drains; in one
 * drain of four a bursty one takes nine tenths of ten times as many cycles (the
 * CPU is busier then). Samples arrive with the count, one a period on average.
 * Stores the bursty function's share, in per cent, as weighed and in truth.
 */
static void simulate(uint64_t seed, double samples_per_drain, double *weighed, double *truth)
{
	struct random_state random = random_seed(seed);
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	double cycles[2] = { 0, 0 };
	const double quiet = 1e6;
	const double mean = 0.75 * quiet + 0.25 * 10 * quiet;
	const double period = mean / samples_per_drain;
	double until_next = period * random_unit(&random);
	int drains = (int)(60000 / samples_per_drain);
	for (int drain = 0; drain < drains; drain++) {
		bool burst = random_below(&random, 4) == 0;
		double used = burst ? 10 * quiet : quiet;
		double bursty = burst ? 0.9 * used : 0;
		cycles[1] += bursty;
		cycles[0] += used - bursty;
		double at = until_next;
		for (; at < used; at += period * (0.5 + random_unit(&random)))
			assert_int_equal(
				weight_sample(&weight, random_unit(&random) * used < bursty), 0);
		until_next = at - used;
		assert_int_equal(weight_advance(&weight, used, 0, add_to_totals, &totals, &lost),
				 0);
	}
	assert_int_equal(weight_flush(&weight, add_to_totals, &totals, &lost), 0);
	*weighed = 100.0 * (double)totals.estimate[1] /
		   (double)(totals.estimate[0] + totals.estimate[1]);
	*truth = 100.0 * cycles[1] / (cycles[0] + cycles[1]);
}

static void shares_are_unbiased_however_few_samples_a_drain(void **state)
{
	(void)state;
	static const double rates[] = { 0.3, 1, 3, 30 };
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		double bias = 0;
		for (uint64_t seed = 0; seed < 200; seed++) {
			double weighed, truth;
			simulate(seed, rates[i], &weighed, &truth);
			bias += (weighed - truth) / 200;
		}
		print_message("%4.1f samples a drain: bias %+.3f points over 200 seeds\n", rates[i],
			      bias);
		assert_true(fabs(bias) < 0.3);
	}
}

static void a_window_of_lost_samples_alone_has_no_cell(void **state)
{
	(void)state;
	CLEANUP(weight_release) struct weight weight = { 0 };
	struct totals totals = { 0 };
	uint64_t lost = 0;
	assert_int_equal(weight_advance(&weight, 5000, WEIGHT_WINDOW_SAMPLES, add_to_totals,
					&totals, &lost),
			 0);
	assert_int_equal(totals.samples[0], 0);
	assert_int_equal(lost, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_of_lost_samples_alone_has_no_cell),
		cmocka_unit_test(a_window_hands_out_exactly_what_was_counted),
		cmocka_unit_test(lost_samples_keep_their_share),
		cmocka_unit_test(a_window_waits_for_enough_samples),
		cmocka_unit_test(a_count_without_samples_has_no_cell),
		cmocka_unit_test(squares_are_those_of_the_weights),
		cmocka_unit_test(shares_are_unbiased_however_few_samples_a_drain),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
