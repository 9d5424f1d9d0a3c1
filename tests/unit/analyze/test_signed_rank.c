/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/runs/run_order.h"
#include "analyze/runs/signed_rank.h"
#include "base/count_of.h"
#include "base/random.h"

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

/* ---- the distribution */

/* All 2^n signs, by themselves. */
static void few_ranks_have_the_chances_of_all_signs(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 14; n++) {
		size_t most = n * (n + 1) / 2, counts[14 * 15 / 2 + 1] = { 0 };
		for (uint32_t signs = 0; signs < 1u << n; signs++) {
			size_t sum = 0;
			for (size_t rank = 1; rank <= n; rank++)
				sum += signs >> (rank - 1) & 1 ? rank : 0;
			counts[sum]++;
		}
		double below = 0;
		for (size_t s = 0; s <= most; s++) {
			below += (double)counts[s];
			assert_near("P(W <= s)", signed_rank_lower(n, (double)s),
				    below / (double)(1u << n), 1e-15);
		}
	}
	assert_near("below all", signed_rank_lower(9, -1), 0, 0);
	assert_near("above all", signed_rank_lower(60, 5000), 1, 0);
}

/* Two-sided 5 %: Wilcoxon 1964, table 2, up to 50; beyond, and the levels, sums of whole numbers in
 * Python. */
static void critical_values_are_those_of_tables(void **state)
{
	(void)state;
	static const struct {
		size_t n;
		double critical, level;
	} table[] = {
		{ 5, -1, 0.9375 },	   { 6, 0, 0.96875 },	      { 7, 2, 0.953125 },
		{ 8, 3, 0.9609375 },	   { 9, 5, 0.9609375 },	      { 10, 8, 0.951171875 },
		{ 11, 10, 0.9580078125 },  { 12, 13, 0.95751953125 }, { 15, 25, 0.9520874 },
		{ 20, 52, 0.9515590668 },  { 25, 89, 0.9517375826 },  { 30, 137, 0.9502898790 },
		{ 40, 264, 0.9502394322 }, { 50, 434, 0.9505535932 },
	};
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		double critical = signed_rank_critical(table[i].n, 0.95);
		assert_near("critical value", critical, table[i].critical, 0);
		assert_near("level", 1 - 2 * signed_rank_lower(table[i].n, fmax(critical, 0)),
			    table[i].level, 1e-8);
	}
	assert_near("99 % of 8", signed_rank_critical(8, 0.99), 0, 0);
	/* exact ones are 453, 648 and 1955 */
	assert_near("51", signed_rank_critical(51, 0.95), 453, 1);
	assert_near("60", signed_rank_critical(60, 0.95), 648, 1);
	assert_near("100", signed_rank_critical(100, 0.95), 1955, 2);
}

/* A sum of s is as likely as all less s. */
static void both_tails_are_alike(void **state)
{
	(void)state;
	for (size_t n = 40; n <= 60; n++) {
		size_t all = n * (n + 1) / 2;
		for (size_t s = 0; s < all; s++)
			assert_near("both",
				    signed_rank_lower(n, (double)s) +
					    signed_rank_lower(n, (double)(all - s - 1)),
				    1, 1e-12);
	}
}

static void the_fewest_that_reach_a_level_are_told(void **state)
{
	(void)state;
	assert_int_equal(signed_rank_least(0.5), 2);
	assert_int_equal(signed_rank_least(0.9), 5);
	assert_int_equal(signed_rank_least(0.95), 6);
	assert_int_equal(signed_rank_least(0.99), 8);
	for (double level = 0.5; level < 0.9999; level += (1 - level) / 7) {
		size_t least = signed_rank_least(level);
		assert_true(signed_rank_critical(least, level) >= 0);
		assert_true(signed_rank_critical(least - 1, level) < 0);
	}
}

/* ---- estimate and interval */

/* Hollander and Wolfe, Nonparametric Statistical Methods (1973), table 3.1 with examples 3.1 to
 * 3.3: the Hamilton depression scale of nine patients before and after a tranquilizer. */
static void the_textbook_gives_these_figures(void **state)
{
	(void)state;
	static const double before[] = { 1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30 };
	static const double after[] = { 0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29 };
	double differences[9];
	for (size_t i = 0; i < 9; i++)
		differences[i] = after[i] - before[i];
	struct signed_rank rank;
	assert_int_equal(signed_rank_of(differences, 9, 0.95, &rank), 0);
	assert_near("estimate", rank.estimate, -0.46, 1e-12);
	assert_near("low", rank.low, -0.786, 1e-12);
	assert_near("high", rank.high, -0.010, 1e-12);
	assert_near("level", rank.level, 0.9609375, 0);
	assert_near("p", rank.p, 0.0390625, 0);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

/* Differences on a grid of 1/8, so that sums are exact and many are equal. */
static void fill_on_grid(struct random_state *random, double *differences, size_t n)
{
	uint64_t steps = 1 + random_below(random, 40);
	double shift = (double)random_below(random, 5) / 8;
	for (size_t i = 0; i < n; i++)
		differences[i] =
			(double)random_below(random, steps) / 8 - (double)(steps / 2) / 8 + shift;
}

static void order_statistics_are_those_of_all_averages(void **state)
{
	(void)state;
	struct random_state random = random_seed(3);
	for (int trial = 0; trial < 600; trial++) {
		size_t n = 1 + random_below(&random, 70), count = 0;
		double differences[70], averages[70 * 71 / 2];
		fill_on_grid(&random, differences, n);
		for (size_t i = 0; i < n; i++)
			for (size_t j = i; j < n; j++)
				averages[count++] = (differences[i] + differences[j]) / 2;
		qsort(averages, count, sizeof(*averages), compare_doubles);
		struct signed_rank rank;
		assert_int_equal(signed_rank_of(differences, n, 0.95, &rank), 0);
		assert_near("estimate", rank.estimate,
			    (averages[(count - 1) / 2] + averages[count / 2]) / 2, 0);
		double critical = signed_rank_critical(n, 0.95);
		if (critical < 0) {
			assert_true(isnan(rank.low) && isnan(rank.high));
			continue;
		}
		assert_near("low", rank.low, averages[(size_t)critical], 0);
		assert_near("high", rank.high, averages[count - 1 - (size_t)critical], 0);
	}
}

static void p_and_interval_say_the_same(void **state)
{
	(void)state;
	struct random_state random = random_seed(4);
	size_t found = 0, not_found = 0;
	for (int trial = 0; trial < 2000; trial++) {
		size_t n = 6 + random_below(&random, 80);
		double differences[86];
		fill_on_grid(&random, differences, n);
		struct signed_rank rank;
		assert_int_equal(signed_rank_of(differences, n, 0.95, &rank), 0);
		bool leaves_out_0 = rank.low > 0 || rank.high < 0;
		assert_int_equal(leaves_out_0, rank.p <= 1 - 0.95);
		found += leaves_out_0;
		not_found += !leaves_out_0;
	}
	assert_true(found > 200 && not_found > 200);
}

/* Exchanging what is compared changes signs, and scaling scales. */
static void exchanging_changes_the_sign_alone(void **state)
{
	(void)state;
	struct random_state random = random_seed(5);
	for (int trial = 0; trial < 300; trial++) {
		size_t n = 6 + random_below(&random, 60);
		double differences[66], turned[66];
		fill_on_grid(&random, differences, n);
		for (size_t i = 0; i < n; i++)
			turned[i] = -differences[i];
		struct signed_rank rank, other;
		assert_int_equal(signed_rank_of(differences, n, 0.95, &rank), 0);
		assert_int_equal(signed_rank_of(turned, n, 0.95, &other), 0);
		assert_near("estimate", other.estimate, -rank.estimate, 0);
		assert_near("low", other.low, -rank.high, 0);
		assert_near("p", other.p, rank.p, 0);
	}
}

static void equal_differences_are_an_interval_without_width(void **state)
{
	(void)state;
	double differences[10] = { 0 };
	struct signed_rank rank;
	assert_int_equal(signed_rank_of(differences, 10, 0.95, &rank), 0);
	assert_near("p of nothing", rank.p, 1, 0);
	assert_near("low", rank.low, 0, 0);
	for (size_t i = 0; i < 10; i++)
		differences[i] = -0.25;
	assert_int_equal(signed_rank_of(differences, 10, 0.95, &rank), 0);
	assert_near("low", rank.low, -0.25, 0);
	assert_near("high", rank.high, -0.25, 0);
	assert_near("p", rank.p, 2.0 / 1024, 0);
}

static void ten_thousand_differences_take_no_room_for_pairs(void **state)
{
	(void)state;
	size_t n = 10000;
	double *differences = calloc(n, sizeof(*differences));
	assert_non_null(differences);
	struct random_state random = random_seed(6);
	for (size_t i = 0; i < n; i++)
		differences[i] = random_unit(&random) + random_unit(&random) - 0.5;
	struct signed_rank rank;
	assert_int_equal(signed_rank_of(differences, n, 0.95, &rank), 0);
	free(differences);
	/* the standard error of the mean is sqrt(1/6 / n) = 0.0041 */
	assert_near("estimate", rank.estimate, 0.5, 0.016);
	assert_near("width", rank.high - rank.low, 2 * 1.96 * 0.0041, 0.002);
	assert_true(rank.p < 1e-300);
}

/* ---- order */

/* The seed gives the order, and all six orders of three commands come equally often: chi-squared
 * with 5 degrees is below 20.5 in 99.9 of 100 cases. */
static void orders_are_drawn_evenly(void **state)
{
	(void)state;
	struct random_state random = random_seed(8), again = random_seed(8);
	size_t counts[27] = { 0 };
	for (int round = 0; round < 6000; round++) {
		size_t order[3], same[3];
		run_order_draw(&random, 3, order);
		run_order_draw(&again, 3, same);
		assert_memory_equal(order, same, sizeof(order));
		counts[order[0] * 9 + order[1] * 3 + order[2]]++;
	}
	static const size_t orders[] = { 5, 7, 11, 15, 19, 21 }; /* 012 021 102 120 201 210 */
	double chi = 0, seen = 0;
	for (size_t i = 0; i < 6; i++) {
		chi += pow((double)counts[orders[i]] - 1000, 2) / 1000;
		seen += (double)counts[orders[i]];
	}
	assert_near("rounds with an order", seen, 6000, 0);
	assert_true(chi < 20.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_ranks_have_the_chances_of_all_signs),
		cmocka_unit_test(critical_values_are_those_of_tables),
		cmocka_unit_test(both_tails_are_alike),
		cmocka_unit_test(the_fewest_that_reach_a_level_are_told),
		cmocka_unit_test(the_textbook_gives_these_figures),
		cmocka_unit_test(order_statistics_are_those_of_all_averages),
		cmocka_unit_test(p_and_interval_say_the_same),
		cmocka_unit_test(exchanging_changes_the_sign_alone),
		cmocka_unit_test(equal_differences_are_an_interval_without_width),
		cmocka_unit_test(ten_thousand_differences_take_no_room_for_pairs),
		cmocka_unit_test(orders_are_drawn_evenly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
