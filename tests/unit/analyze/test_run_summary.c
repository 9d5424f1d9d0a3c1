/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>

#include "analyze/runs/run_summary.h"
#include "base/error.h"
#include "base/random.h"
#include "support/normal.h"

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

static struct run_summary summary_of(const double *values, size_t runs, bool *outlier)
{
	struct run_values all = { values, runs, 1 };
	struct run_summary summary;
	struct error err;
	if (run_summary_of(&all, 0, outlier, &summary, &err) < 0)
		fail_msg("%s", err.text);
	return summary;
}

/* ---- figures */

static void figures_are_those_of_the_runs_that_counted(void **state)
{
	(void)state;
	/* of two commands; the second one's 3, 5, 7, 9 and 26 are what is looked at */
	static const double values[] = { 1, 3, 1, NAN, 1, 5, NAN, 7, 1, 9, 1, 26 };
	struct run_values all = { values, 6, 2 };
	struct run_summary summary;
	assert_int_equal(run_summary_of(&all, 1, NULL, &summary, NULL), 0);
	assert_int_equal(summary.counted, 5);
	assert_int_equal(summary.absent, 1);
	assert_near("mean", summary.mean.value, 10, 1e-12);
	assert_near("deviation", summary.deviation, sqrt(340.0 / 4), 1e-12);
	/* 2.776445 is the 97.5 % point of Student's t with 4 degrees */
	assert_near("low", summary.mean.low, 10 - 2.7764451 * sqrt(340.0 / 20), 1e-6);
	assert_near("high", summary.mean.high, 10 + 2.7764451 * sqrt(340.0 / 20), 1e-6);
	assert_near("median", summary.median, 7, 0);
	assert_near("median deviation", summary.median_deviation, 2, 0);
	assert_near("least", summary.least, 3, 0);
	assert_near("most", summary.most, 26, 0);
}

static void few_runs_leave_figures_absent(void **state)
{
	(void)state;
	static const double values[] = { 4, 6, 9, 10, 15 };
	struct run_summary summary = summary_of(values, 0, NULL);
	assert_int_equal(summary.mean.kind, ESTIMATE_ABSENT);
	assert_true(isnan(summary.median) && isnan(summary.least) && isnan(summary.most));
	summary = summary_of(values, 1, NULL);
	assert_int_equal(summary.mean.kind, ESTIMATE_VALUE);
	assert_near("median", summary.median, 4, 0);
	assert_true(isnan(summary.deviation) && isnan(summary.median_deviation));
	summary = summary_of(values, 2, NULL);
	assert_int_equal(summary.mean.kind, ESTIMATE_INTERVAL);
	assert_near("high", summary.mean.high, 5 + 12.7062047362, 1e-6);
	assert_near("median", summary.median, 5, 0);
	summary = summary_of(values, 4, NULL);
	assert_true(isnan(summary.trend.tau) && isnan(summary.trend.likeness));
	assert_false(run_summary_hangs_together(&summary));
	summary = summary_of(values, 5, NULL);
	assert_near("five rising runs", summary.trend.tau, 1, 0);
	assert_near("two of 120 orders", summary.trend.tau_p, 2.0 / 120, 1e-15);
	assert_false(summary.outliers_judged);
}

static void runs_that_counted_nothing_are_absent(void **state)
{
	(void)state;
	static const double values[] = { NAN, NAN, NAN };
	struct run_summary summary = summary_of(values, 3, NULL);
	assert_int_equal(summary.mean.kind, ESTIMATE_ABSENT);
	assert_int_equal(summary.absent, 3);
}

static void infinite_values_are_refused(void **state)
{
	(void)state;
	static const double values[] = { 1, INFINITY };
	struct run_values all = { values, 2, 1 };
	struct run_summary summary;
	struct error err;
	assert_int_equal(run_summary_of(&all, 0, NULL, &summary, &err), -EINVAL);
	assert_string_equal(err.text, "a value of run 2 is infinite");
	all.rounds = (size_t)1 << 60;
	assert_int_equal(run_summary_of(&all, 0, NULL, &summary, &err), -EINVAL);
	assert_string_equal(err.text, "1152921504606846976 runs are more than 1000000");
}

/* ---- outliers */

/* The median is 10 and the median deviation 1: the score passes 3.5 at 10 +- 3.5 * 1.4826. */
static void outliers_are_flagged_and_kept(void **state)
{
	(void)state;
	double values[] = { 9, 11, 10, 9, 11, 15.1, NAN, 9, 11, 10, 10, 15.3, 4.7, 5.0 };
	bool outlier[14];
	struct run_summary summary = summary_of(values, 14, outlier);
	assert_true(summary.outliers_judged);
	assert_near("median", summary.median, 10, 0);
	assert_near("median deviation", summary.median_deviation, 1, 0);
	assert_int_equal(summary.outliers, 2);
	for (size_t i = 0; i < 14; i++)
		assert_int_equal(outlier[i], i == 11 || i == 12);
	assert_near("most", summary.most, 15.3, 0);
	assert_int_equal(summary.counted, 13);
	summary = summary_of(values, 9, outlier); /* eight values */
	assert_false(summary.outliers_judged);
	assert_int_equal(summary.outliers, 0);
}

/* No median deviation; the mean one of 12 runs is 1/12, so the one that differs has a score of 9.6.
 */
static void a_run_that_differs_from_equal_ones_is_an_outlier(void **state)
{
	(void)state;
	double values[12];
	bool outlier[12];
	for (size_t i = 0; i < 12; i++)
		values[i] = 1000;
	assert_int_equal(summary_of(values, 12, outlier).outliers, 0);
	values[7] = 1001;
	assert_int_equal(summary_of(values, 12, outlier).outliers, 1);
	assert_true(outlier[7] && !outlier[6]);
}

/* ---- trend */

static size_t falling_pairs(const double *values, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			count += values[i] > values[j];
	return count;
}

/* Calls `visit` with every order of 1..n. */
static void each_order(double *values, size_t fixed, size_t n,
		       void (*visit)(const double *, size_t, void *), void *context)
{
	if (fixed == n)
		visit(values, n, context);
	for (size_t i = fixed; i < n; i++) {
		double first = values[fixed];
		values[fixed] = values[i];
		values[i] = first;
		each_order(values, fixed + 1, n, visit, context);
		values[i] = values[fixed];
		values[fixed] = first;
	}
}

struct orders {
	double counts[22]; /* orders by pairs that fall */
	double all;
};

static void count_order(const double *values, size_t n, void *context)
{
	struct orders *orders = context;
	orders->counts[falling_pairs(values, n)]++;
	orders->all++;
}

static void check_order(const double *values, size_t n, void *context)
{
	const struct orders *orders = context;
	size_t pairs = n * (n - 1) / 2, falling = falling_pairs(values, n);
	size_t rarer = falling < pairs - falling ? falling : pairs - falling;
	double tail = 0;
	for (size_t s = 0; s <= rarer; s++)
		tail += orders->counts[s];
	struct run_trend trend;
	assert_int_equal(run_trend_of(values, n, &trend), 0);
	assert_near("tau", trend.tau, 1 - 2 * (double)falling / (double)pairs, 1e-15);
	assert_near("p", trend.tau_p, fmin(1, 2 * tail / orders->all), 1e-14);
}

/* All orders of 5, 6 and 7 runs, by themselves. */
static void trend_has_the_chance_of_all_orders(void **state)
{
	(void)state;
	for (size_t n = 5; n <= 7; n++) {
		double values[7];
		struct orders orders = { 0 };
		for (size_t i = 0; i < n; i++)
			values[i] = (double)i + 1;
		each_order(values, 0, n, count_order, &orders);
		each_order(values, 0, n, check_order, &orders);
	}
}

/* Equal values: tau-b, and the normal approximation with the variance that ties leave. Of
 * 45 pairs 8 are equal and 5 fall. */
static void equal_runs_count_as_neither(void **state)
{
	(void)state;
	static const double values[] = { 1, 1, 2, 2, 2, 3, 3, 1, 4, 4 };
	struct run_trend trend;
	assert_int_equal(run_trend_of(values, 10, &trend), 0);
	double score = 27, pairs = 45, ties = 8;
	assert_near("tau", trend.tau, score / sqrt(pairs * (pairs - ties)), 1e-12);
	double variance = (10 * 9 * 25.0 - 2 * (3 * 2 * 11.0) - 2 * (2 * 1 * 9.0)) / 18;
	assert_near("p", trend.tau_p, erfc((score - 1) / sqrt(2 * variance)), 1e-12);
	static const double equal[12] = { 0 };
	assert_int_equal(run_trend_of(equal, 12, &trend), 0);
	assert_true(isnan(trend.tau) && isnan(trend.tau_p) && isnan(trend.likeness));
}

/* 1..10: v = 9 / 82.5; a rise is likeness, too. 1 10 2 9 ...: v is near 4. */
static void likeness_is_of_neighbours(void **state)
{
	(void)state;
	double values[10];
	struct run_trend trend;
	for (size_t i = 0; i < 10; i++)
		values[i] = (double)i;
	assert_int_equal(run_trend_of(values, 10, &trend), 0);
	assert_near("rising", trend.likeness, 1 - 9 / 82.5 / 2, 1e-12);
	assert_true(trend.likeness_p < 0.001);
	for (size_t i = 0; i < 10; i++)
		values[i] = i % 2 ? 10 - (double)i : (double)i;
	assert_int_equal(run_trend_of(values, 10, &trend), 0);
	assert_true(trend.likeness < -0.3 && trend.likeness_p > 0.9);
}

/* ---- rates */

#define EXPERIMENTS 4000

/* Independent runs: the interval holds the mean in 95 of 100, tests say yes as often as they say.
 */
static void independent_runs_are_as_sure_as_they_say(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	static const size_t sizes[] = { 2, 5, 10, 20, 60 };
	for (size_t s = 0; s < 5; s++) {
		size_t n = sizes[s];
		double held = 0, trends = 0, alike = 0, together = 0;
		for (int trial = 0; trial < EXPERIMENTS; trial++) {
			double values[60];
			for (size_t i = 0; i < n; i++)
				values[i] = 100 + normal(&random);
			struct run_summary summary = summary_of(values, n, NULL);
			held += summary.mean.low <= 100 && summary.mean.high >= 100;
			trends += summary.trend.tau_p <= 0.05;
			alike += summary.trend.likeness_p <= 0.05;
			together += run_summary_hangs_together(&summary);
		}
		assert_near("held", held / EXPERIMENTS, 0.95, 0.012);
		assert_true(trends / EXPERIMENTS < 0.06 && alike / EXPERIMENTS < 0.065);
		if (n >= 10)
			assert_true(trends / EXPERIMENTS > 0.03 && alike / EXPERIMENTS > 0.035);
		assert_true(together / EXPERIMENTS < 0.025);
	}
}

/* The control: neighbours with a correlation of 0.8, as on a shared machine. The interval is too
 * short then, and that is told. */
static void runs_that_hang_together_are_told(void **state)
{
	(void)state;
	struct random_state random = random_seed(12);
	double held = 0, told = 0;
	for (int trial = 0; trial < EXPERIMENTS; trial++) {
		double values[30], level = normal(&random);
		for (size_t i = 0; i < 30; i++) {
			level = 0.8 * level + 0.6 * normal(&random);
			values[i] = 100 + level;
		}
		struct run_summary summary = summary_of(values, 30, NULL);
		held += summary.mean.low <= 100 && summary.mean.high >= 100;
		told += run_summary_hangs_together(&summary);
	}
	assert_true(held / EXPERIMENTS < 0.6);
	assert_true(told / EXPERIMENTS > 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_runs_that_counted),
		cmocka_unit_test(few_runs_leave_figures_absent),
		cmocka_unit_test(runs_that_counted_nothing_are_absent),
		cmocka_unit_test(infinite_values_are_refused),
		cmocka_unit_test(outliers_are_flagged_and_kept),
		cmocka_unit_test(a_run_that_differs_from_equal_ones_is_an_outlier),
		cmocka_unit_test(trend_has_the_chance_of_all_orders),
		cmocka_unit_test(equal_runs_count_as_neither),
		cmocka_unit_test(likeness_is_of_neighbours),
		cmocka_unit_test(independent_runs_are_as_sure_as_they_say),
		cmocka_unit_test(runs_that_hang_together_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
