/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/runs/run_comparison.h"
#include "analyze/runs/run_words.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "support/normal.h"

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

static struct run_comparison compare(const double *values, size_t rounds)
{
	struct run_values all = { values, rounds, 2 };
	struct run_comparison comparison;
	struct error err;
	if (run_compare(&all, 0, 1, &comparison, &err) < 0)
		fail_msg("%s", err.text);
	return comparison;
}

static const struct run_unit no_unit = { "", 1 };

static void assert_says(const struct run_comparison *comparison, enum run_measure measure,
			const char *wanted)
{
	char text[RUN_WORDS_BYTES];
	run_verdict_text(comparison, measure, no_unit, text);
	assert_string_equal(text, wanted);
}

/* ---- verdicts */

static const double slower[] = { 100,	102, 200,   204.2, 50,	  51.1, 100,
				 101.8, 300, 306.3, 100,   102.1, 100,	102.2 };

/* Ratios 1.02, 1.021, 1.022, 1.018, 1.021, 1.021 and 1.022; 7 rounds leave out two of the 28
 * averages at either end, and the next is that of 1.018 and 1.021 below and of 1.022 and itself
 * above. */
static void a_ratio_is_found_whatever_the_rounds_cost(void **state)
{
	(void)state;
	struct run_comparison c = compare(slower, 7);
	assert_int_equal(c.rounds, 7);
	assert_int_equal(c.scale, RUN_RATIO);
	assert_int_equal(c.verdict, RUN_MORE);
	assert_near("change", c.change.value, 0.0205, 0.0006);
	assert_near("low", c.change.low, sqrt(1.018 * 1.021) - 1, 1e-12);
	assert_near("high", c.change.high, 0.022, 1e-12);
	assert_near("level", c.level, 0.953125, 0);
	assert_near("p", c.p, 2.0 / 128, 0);
	assert_says(&c, RUN_TIME, "slower by 2.10 % (1.95 to 2.20)");
	assert_says(&c, RUN_COUNT, "more by 2.10 % (1.95 to 2.20)");
	assert_says(&c, RUN_RATE, "higher by 2.10 % (1.95 to 2.20)");
	struct run_values all = { slower, 7, 2 };
	assert_int_equal(run_compare(&all, 1, 0, &c, NULL), 0);
	assert_int_equal(c.verdict, RUN_LESS);
	assert_says(&c, RUN_TIME, "faster by 2.06 % (1.91 to 2.15)");
	assert_says(&c, RUN_COUNT, "fewer by 2.06 % (1.91 to 2.15)");
}

static void nothing_is_found_where_the_interval_holds_0(void **state)
{
	(void)state;
	static const double values[] = { 100, 101, 100, 99,  100, 102, 100,
					 98,  100, 101, 100, 99,  100, 103 };
	struct run_comparison c = compare(values, 7);
	assert_int_equal(c.verdict, RUN_NOT_FOUND);
	assert_true(c.change.low < 0 && c.change.high > 0 && c.p > 0.05);
	assert_says(&c, RUN_TIME, "no difference found (within -1.5 to +2.0 %)");
}

static void five_rounds_are_too_few(void **state)
{
	(void)state;
	struct run_comparison c = compare(slower, 5);
	assert_int_equal(c.verdict, RUN_TOO_FEW);
	assert_int_equal(c.change.kind, ESTIMATE_VALUE);
	assert_near("level", c.level, 0.9375, 0);
	assert_true(isnan(c.detectable) && isnan(run_power(&c, 1)));
	assert_says(&c, RUN_TIME, "too few runs: 5 reach a level of 93.8 %, and 95 % takes 6");
	char text[RUN_WORDS_BYTES];
	run_detectable_text(&c, no_unit, text);
	assert_string_equal(text, "");
	assert_int_equal(compare(slower, 6).verdict, RUN_MORE);
	c = compare(slower, 0);
	assert_int_equal(c.verdict, RUN_TOO_FEW);
	assert_int_equal(c.change.kind, ESTIMATE_ABSENT);
	assert_says(&c, RUN_TIME, "no round in which both were counted");
}

/* The rank of a wild round is the highest: 10 of 10 rounds are more than the 8 that may be against,
 * 12 of 12 are not more than 13. */
static void one_wild_round_of_twelve_hides_nothing(void **state)
{
	(void)state;
	double values[2 * RUN_ROUNDS_ROBUST];
	for (size_t i = 0; i < COUNT_OF(values); i++)
		values[i] = i % 2 ? 102 + 0.01 * (double)i : 100;
	values[2] = 300;
	assert_int_equal(compare(values, 10).verdict, RUN_NOT_FOUND);
	assert_int_equal(compare(values, RUN_ROUNDS_ROBUST - 1).verdict, RUN_NOT_FOUND);
	assert_int_equal(compare(values, RUN_ROUNDS_ROBUST).verdict, RUN_MORE);
}

/* ---- values that are absent or 0 */

static void rounds_without_a_value_are_left_out(void **state)
{
	(void)state;
	double values[18];
	for (size_t i = 0; i < 14; i++)
		values[i] = slower[i];
	values[14] = 100;
	values[15] = NAN; /* which is not 0 */
	values[16] = NAN;
	values[17] = 5;
	struct run_comparison c = compare(values, 9), without = compare(slower, 7);
	assert_int_equal(c.rounds, 7);
	assert_int_equal(c.left_out, 2);
	assert_int_equal(c.scale, RUN_RATIO);
	assert_near("low", c.change.low, without.change.low, 0);
	values[1] = NAN;
	values[3] = NAN;
	c = compare(values, 9);
	assert_int_equal(c.verdict, RUN_TOO_FEW);
	assert_int_equal(c.left_out, 4);
}

static void counts_of_0_are_compared_by_their_difference(void **state)
{
	(void)state;
	static const double values[] = { 0, 3, 1, 4, 0, 5, 2, 6, 0, 3, 1, 5, 0, 4 };
	struct run_comparison c = compare(values, 7);
	assert_int_equal(c.scale, RUN_DIFFERENCE);
	assert_int_equal(c.verdict, RUN_MORE);
	assert_near("change", c.change.value, 3.5, 0);
	assert_says(&c, RUN_COUNT, "more by 3.5 (3.0 to 4.5)");
	char text[RUN_WORDS_BYTES];
	run_verdict_text(&c, RUN_COUNT, (struct run_unit){ "ms", 1e-3 }, text);
	assert_string_equal(text, "more by 0.0035 ms (0.0030 to 0.0045)");
	run_detectable_text(&c, (struct run_unit){ "ms", 1 }, text);
	assert_string_equal(text, "would find 1.0 ms");
	static const double none[12] = { 0 };
	c = compare(none, 6);
	assert_int_equal(c.verdict, RUN_NOT_FOUND);
	assert_near("p", c.p, 1, 0);
	assert_near("change", c.change.value, 0, 0);
}

static void differences_have_their_unit_and_nothing_has_a_sign(void **state)
{
	(void)state;
	const struct run_unit faults = { "faults", 1 }, ms = { "ms", 1e3 };
	static const double values[] = { 0, 3, 1, 4, 0, 5, 2, 6, 0, 3, 1, 5, 0, 4 };
	struct run_comparison c = compare(values, 7);
	char text[RUN_WORDS_BYTES];
	run_verdict_text(&c, RUN_COUNT, faults, text);
	assert_string_equal(text, "more by 3.5 faults (3.0 to 4.5)");
	run_detectable_text(&c, faults, text);
	assert_non_null(strstr(text, " faults"));
	static const double same[12] = { 0 };
	c = compare(same, 6);
	run_verdict_text(&c, RUN_COUNT, faults, text);
	assert_string_equal(text, "no difference found (the same in nearly every round)");
	static const double seconds[] = { 0.001, 0.003, 0, 0, 0.002, 0, 0, 0.002, 0, 0, 0, 0 };
	c = compare(seconds, 6);
	run_verdict_text(&c, RUN_TIME, ms, text);
	assert_string_equal(text, "no difference found (within -2.0 to +2.0 ms)");
	static const double rarely[] = { 0.001, 0, 0.002, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	c = compare(rarely, 7);
	run_verdict_text(&c, RUN_TIME, ms, text);
	assert_string_equal(text, "no difference found (within -1.0 to 0 ms)");
	c = compare(slower, 5);
	run_verdict_text(&c, RUN_TIME, ms, text);
	assert_string_equal(text, "too few runs: 5 reach a level of 93.8 %, and 95 % takes 6");
}

/* As instructions that the program decides: any difference is one. */
static void what_does_not_vary_differs_or_does_not(void **state)
{
	(void)state;
	double values[20];
	for (size_t i = 0; i < 20; i++)
		values[i] = i % 2 ? 1000020 : 1000000;
	struct run_comparison c = compare(values, 10);
	assert_int_equal(c.verdict, RUN_MORE);
	assert_near("low", c.change.low, 2e-5, 1e-14);
	assert_near("high", c.change.high, 2e-5, 1e-14);
	assert_near("detectable", c.detectable, 0, 1e-14);
	for (size_t i = 0; i < 20; i++) /* 2 % more of whatever the round makes it */
		values[i] = (double)(1000 + 37 * (i / 2)) * (i % 2 ? 51 : 50);
	c = compare(values, 10);
	assert_says(&c, RUN_COUNT, "more by 2.0 % (2.0 to 2.0)");
	char text[RUN_WORDS_BYTES];
	run_detectable_text(&c, no_unit, text);
	assert_string_equal(text, "would find any difference");
	for (size_t i = 0; i < 20; i++)
		values[i] = 1000000;
	c = compare(values, 10);
	assert_int_equal(c.verdict, RUN_NOT_FOUND);
	assert_says(&c, RUN_COUNT, "no difference found (the same in nearly every round)");
	run_detectable_text(&c, no_unit, text);
	assert_string_equal(text, "would find any difference");
	assert_near("power", run_power(&c, 1e-9), 1, 0);
	assert_near("of nothing", run_power(&c, 0), 0, 0);
}

static void infinite_values_are_refused(void **state)
{
	(void)state;
	static const double values[] = { 1, 2, 3, -INFINITY };
	struct run_values all = { values, 2, 2 };
	struct run_comparison comparison;
	struct error err;
	assert_int_equal(run_compare(&all, 0, 1, &comparison, &err), -EINVAL);
	assert_string_equal(err.text, "a value of run 2 is infinite");
	all.rounds = 1000001;
	assert_int_equal(run_compare(&all, 0, 1, &comparison, &err), -EINVAL);
	assert_string_equal(err.text, "1000001 rounds of runs are more than 1000000");
}

/* Counts up to 2^64 and below 1e-300: no figure becomes infinite or is lost. */
static void extreme_values_keep_their_ratio(void **state)
{
	(void)state;
	double values[14];
	for (size_t i = 0; i < 14; i++)
		values[i] = (i % 2 ? 1.01 : 1) * (i < 6 ? 0x1p64 : 1e-300) *
			    (1 + 1e-4 * (double)(i / 2));
	struct run_comparison c = compare(values, 7);
	assert_int_equal(c.verdict, RUN_MORE);
	assert_near("change", c.change.value, 0.01, 1e-9);
}

static void enormous_ratios_fit_the_text(void **state)
{
	(void)state;
	double values[14];
	for (size_t i = 0; i < 14; i++)
		values[i] = i % 2 ? 1e200 : 1e-100;
	struct run_comparison c = compare(values, 7);
	assert_says(&c, RUN_COUNT, "more by 1e+302 % (1e+302 to 1e+302)");
	for (size_t i = 1; i < 14; i += 4) /* hundreds of digits either way */
		values[i] = 1e-250;
	c = compare(values, 7);
	assert_says(&c, RUN_COUNT, "no difference found (within -100 to +1e+302 %)");
}

/* ---- many, and power */

static void many_are_judged_together(void **state)
{
	(void)state;
	struct run_comparison list[10];
	static const double same[] = { 1, 2, 2, 1, 1, 3, 3, 1, 1, 2, 2, 1, 1, 1 };
	list[0] = compare(slower, 7);
	for (size_t i = 1; i < 9; i++)
		list[i] = compare(same, 7);
	list[9] = compare(slower, 5); /* too few to be a test */
	assert_int_equal(list[0].verdict, RUN_MORE);
	assert_int_equal(run_comparisons_judge(list, 10, NULL), 0);
	assert_near("q", list[0].q, 9 * list[0].p, 1e-15);
	assert_int_equal(list[0].verdict, RUN_MAYBE);
	assert_int_equal(list[1].verdict, RUN_NOT_FOUND);
	assert_int_equal(list[9].verdict, RUN_TOO_FEW);
	assert_says(&list[0], RUN_TIME,
		    "perhaps slower by 2.10 % (1.95 to 2.20), or one of many that are chance");
	/* the rounds that one of so many takes */
	assert_int_equal(run_least_rounds(1), 6);
	assert_int_equal(run_least_rounds(9), 9);
	assert_int_equal(run_comparisons_judge(list, 1, NULL), 0);
	assert_int_equal(list[0].verdict, RUN_MORE);
}

static void power_is_that_of_the_detectable_change(void **state)
{
	(void)state;
	struct random_state random = random_seed(5);
	for (size_t rounds = 6; rounds <= 60; rounds += 9) {
		double values[120];
		for (size_t i = 0; i < 2 * rounds; i++)
			values[i] = exp(0.01 * normal(&random));
		struct run_comparison c = compare(values, rounds);
		assert_near("power", run_power(&c, c.detectable), 0.8, 0.001);
		assert_near("of the other sign", run_power(&c, 1 / (1 + c.detectable) - 1), 0.8,
			    0.001);
		assert_near("of nothing", run_power(&c, 0), 1 - c.level, 1e-9);
		assert_true(run_power(&c, 10 * c.detectable) > 0.999);
		/* beyond half of the interval by about 0.84 / 1.96 */
		double half = log((1 + c.change.high) / (1 + c.change.low)) / 2;
		double more = log1p(c.detectable) / half;
		assert_true(more > 1.3 && more < 1.44);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ratio_is_found_whatever_the_rounds_cost),
		cmocka_unit_test(nothing_is_found_where_the_interval_holds_0),
		cmocka_unit_test(five_rounds_are_too_few),
		cmocka_unit_test(one_wild_round_of_twelve_hides_nothing),
		cmocka_unit_test(rounds_without_a_value_are_left_out),
		cmocka_unit_test(counts_of_0_are_compared_by_their_difference),
		cmocka_unit_test(differences_have_their_unit_and_nothing_has_a_sign),
		cmocka_unit_test(what_does_not_vary_differs_or_does_not),
		cmocka_unit_test(infinite_values_are_refused),
		cmocka_unit_test(extreme_values_keep_their_ratio),
		cmocka_unit_test(enormous_ratios_fit_the_text),
		cmocka_unit_test(many_are_judged_together),
		cmocka_unit_test(power_is_that_of_the_detectable_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
