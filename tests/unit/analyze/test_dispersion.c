/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>

#include "analyze/figures/difference.h"
#include "analyze/runs/dispersion.h"
#include "base/count_of.h"
#include "base/incomplete_gamma.h"
#include "base/random.h"
#include "support/long_form.h"
#include "support/poisson.h"

#define RUNS_MOST 20
#define SETS	  1000
#define WEIGHT	  1000.0

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

/* Equal samples, counts[i] of a run's `whole`. */
static void make_runs(struct dispersion_run *runs, size_t count, const double *counts, double whole)
{
	for (size_t i = 0; i < count; i++)
		runs[i] = (struct dispersion_run){ .value = counts[i] * WEIGHT,
						   .squares = counts[i] * WEIGHT * WEIGHT,
						   .whole = whole * WEIGHT,
						   .whole_squares = whole * WEIGHT * WEIGHT,
						   .exposure = 1 };
}

static double p_of(const struct dispersion_run *runs, size_t count,
		   enum dispersion_exposure exposure)
{
	double p = NAN;
	struct dispersion dispersion = dispersion_of(runs, count, exposure);
	assert_int_equal(dispersion_test(runs, count, &dispersion, &p), 0);
	return p;
}

static double p_of_counts(const double *counts, size_t count)
{
	struct dispersion_run runs[RUNS_MOST];
	make_runs(runs, count, counts, 1e6);
	return p_of(runs, count, DISPERSION_APART);
}

/* ---- known values */

/* 5 % and 0.1 % points of printed tables (Abramowitz and Stegun 26.8). */
static void tails_of_chi_square_are_those_of_tables(void **state)
{
	(void)state;
	static const struct {
		double degrees, of_50, of_1;
	} table[] = {
		{ 1, 3.84146, 10.828 },	 { 2, 5.99147, 13.816 },    { 7, 14.0671, 24.322 },
		{ 30, 43.7729, 59.703 }, { 100, 124.342, 149.449 },
	};
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		assert_near("5 %", chi_square_upper(table[i].of_50, table[i].degrees), 0.05, 1e-6);
		assert_near("0.1 %", chi_square_upper(table[i].of_1, table[i].degrees), 0.001,
			    1e-6);
	}
	for (double x = 0.01; x < 300; x *= 1.9) /* two degrees have a closed form */
		assert_near("2", chi_square_upper(x, 2) / exp(-x / 2), 1, 1e-9);
	assert_near("none", chi_square_upper(0, 7), 1, 0);
}

static void the_statistic_is_pearsons(void **state)
{
	(void)state;
	static const double counts[] = { 90, 110, 100, 100 };
	struct dispersion_run runs[4];
	make_runs(runs, 4, counts, 1e4);
	struct dispersion d = dispersion_of(runs, 4, DISPERSION_APART);
	assert_near("statistic", d.statistic, 2, 1e-9);
	assert_near("degrees", d.degrees, 3, 0);
	assert_near("samples", d.samples, 400, 1e-9);
	/* twice the time, twice the count */
	runs[0].exposure = 0.9;
	runs[1].exposure = 1.1;
	assert_near("in proportion", dispersion_of(runs, 4, DISPERSION_APART).statistic, 0, 1e-9);
	/* a tenth of all: errors in common leave 9/10 of the variance */
	make_runs(runs, 4, counts, 1000);
	for (size_t i = 0; i < 4; i++)
		runs[i].exposure = runs[i].whole;
	assert_near("within", dispersion_of(runs, 4, DISPERSION_WITHIN).statistic, 2 / 0.9, 1e-9);
	/* the whole itself cannot differ from itself */
	make_runs(runs, 4, counts, 0);
	for (size_t i = 0; i < 4; i++) {
		runs[i].whole = runs[i].exposure = runs[i].value;
		runs[i].whole_squares = runs[i].squares;
	}
	assert_near("whole", p_of(runs, 4, DISPERSION_WITHIN), 1, 0);
}

/* Another period is another weight of a sample, and not another count. */
static void weights_are_no_scatter(void **state)
{
	(void)state;
	static const double counts[] = { 100, 200, 100, 50 };
	struct dispersion_run runs[4];
	make_runs(runs, 4, counts, 1e4);
	for (size_t i = 0; i < 4; i++) {
		double weight = WEIGHT * 100 / counts[i];
		runs[i].value = counts[i] * weight;
		runs[i].squares = counts[i] * weight * weight;
		runs[i].whole = 1e4 * weight;
		runs[i].whole_squares = 1e4 * weight * weight;
	}
	struct dispersion d = dispersion_of(runs, 4, DISPERSION_APART);
	assert_near("statistic", d.statistic, 0, 1e-9);
	assert_near("samples", d.samples, 450, 1e-6);
}

static void counts_without_squares_have_no_error(void **state)
{
	(void)state;
	static const double counts[] = { 100, 200, 100, 50 };
	struct dispersion_run runs[4];
	make_runs(runs, 4, counts, 1e4);
	for (size_t i = 0; i < 4; i++)
		runs[i].squares = runs[i].whole_squares = 0;
	assert_false(dispersion_of(runs, 4, DISPERSION_APART).known);
	assert_near("p", p_of(runs, 4, DISPERSION_APART), 1, 0);
}

/* Few samples: the chances are counted out. */
static void few_samples_have_their_exact_chance(void **state)
{
	(void)state;
	static const double one[8] = { 1 }, two[8] = { 2 }, five[8] = { 5 }, apart[8] = { 1, 1 };
	assert_near("one is always in some run", p_of_counts(one, 8), 1, 0);
	assert_near("two in one of 8", p_of_counts(two, 8), 1.0 / 8, 0.04);
	assert_near("two apart", p_of_counts(apart, 8), 1, 0);
	/* 8 (1/8)^5, where chi-square would say 22 times less */
	assert_near("five in one of 8", p_of_counts(five, 8) / (8 * pow(0.125, 5)), 1, 0.5);
	static const double ten[8] = { 10 };
	double p = p_of_counts(ten, 8) / (8 * pow(0.125, 10));
	if (!(p >= 1 && p < 20))
		fail_msg("ten in one of 8 have %g times their chance", p);
	static const double all[2] = { 6, 0 };
	assert_near("six of six in one of 2", p_of_counts(all, 2), 2 * pow(0.5, 6), 0.02);
	assert_near("the same again", p_of_counts(five, 8), p_of_counts(five, 8), 0);
}

/* ---- many rows */

/* So many samples that draws take longest, and so far apart that few are as extreme. */
#define WIDE_RUNS 130
#define WIDE_ROWS 2000

static void make_wide(struct dispersion_run *runs, size_t row)
{
	double counts[WIDE_RUNS];
	for (size_t i = 0; i < WIDE_RUNS; i++)
		counts[i] = 29 + (i % 2 ? 6 : -6);
	counts[row % WIDE_RUNS / 2 * 2 + 1] += 10 + (double)(row % 3);
	make_runs(runs, WIDE_RUNS, counts, 1e6);
}

/* All rows are judged by the same draws: each by its own, this takes minutes. */
static void many_rows_share_their_draws(void **state)
{
	(void)state;
	static struct dispersion_case rows[WIDE_ROWS];
	struct dispersion_run runs[WIDE_RUNS];
	for (size_t row = 0; row < WIDE_ROWS; row++) {
		make_wide(runs, row);
		rows[row].of = dispersion_of(runs, WIDE_RUNS, DISPERSION_APART);
	}
	assert_int_equal(dispersion_test_all(runs, WIDE_RUNS, rows, WIDE_ROWS), 0);
	for (size_t row = 0; row < WIDE_ROWS; row++)
		assert_near("the same statistic", rows[row].p, rows[row % 3].p, 0);
	printf("p from %g to %g\n", rows[2].p, rows[0].p);
	assert_true(rows[2].p < rows[0].p && rows[2].p > 0.002 && rows[0].p < 0.05);
}

/* From rows that nothing is known of to those that draws cannot settle. */
static void other_rows_change_no_chance(void **state)
{
	(void)state;
	static struct dispersion_case rows[100];
	static double alone[COUNT_OF(rows)];
	struct random_state random = random_seed(4);
	struct dispersion_run runs[8];
	bool drawn = false, settled = false;
	for (size_t row = 0; row < COUNT_OF(rows); row++) {
		double counts[8];
		for (size_t i = 0; i < 8; i++)
			counts[i] = (double)poisson(&random, (double)(row % 40)) +
				    (i == 3 ? (double)(row % 23) : 0);
		make_runs(runs, 8, counts, 1e6);
		for (size_t i = 0; i < 8; i++)
			runs[i].exposure = 1 + 0.1 * (double)i;
		rows[row].of = dispersion_of(runs, 8, DISPERSION_APART);
		alone[row] = p_of(runs, 8, DISPERSION_APART);
		drawn |= alone[row] > 0.01 && alone[row] < 0.9;
		settled |= alone[row] < 1e-6;
	}
	assert_true(drawn && settled);
	assert_int_equal(dispersion_test_all(runs, 8, rows, COUNT_OF(rows)), 0);
	for (size_t row = 0; row < COUNT_OF(rows); row++)
		assert_near("p", rows[row].p, alone[row], 0);
}

/* ---- the rate of false alarms */

static double draw_p(struct random_state *random, size_t runs, double mean)
{
	double counts[RUNS_MOST];
	for (size_t i = 0; i < runs; i++)
		counts[i] = (double)poisson(random, mean);
	return p_of_counts(counts, runs);
}

static void equal_runs_are_called_different_at_the_rate(void **state)
{
	(void)state;
	static const size_t runs[] = { 2, 3, 8, 20 };
	static const double means[] = { 0.05, 0.3, 1, 3, 9, 12, 40, 400, 40000 };
	struct random_state random = random_seed(1);
	/* the short form leaves out 20 runs, whose samples take longest to draw */
	for (size_t r = 0; r < COUNT_OF(runs) - !LONG_FORM; r++)
		for (size_t m = 0; m < COUNT_OF(means); m++) {
			unsigned called = 0, rare = 0;
			for (int set = 0; set < SETS; set++) {
				double p = draw_p(&random, runs[r], means[m]);
				called += p <= 0.05;
				rare += p <= 0.002;
			}
			printf("%2zu runs of %7g: %.2f %% at 5 %%, %.3f %% at 0.2 %%\n", runs[r],
			       means[m], called / 10.0, rare / 10.0);
			if (called > 70 || rare > 8)
				fail_msg("%u and %u of %d", called, rare, SETS);
			/* of two runs' few distinct statistics none may be at 5 % */
			if (means[m] >= (runs[r] == 2 ? 400 : 10) && called < 30)
				fail_msg("only %u of %d: too few", called, SETS);
		}
}

/* Of a table of procedures from rare to frequent, none of which changes. */
static void sets_of_equal_runs_have_no_culprit(void **state)
{
	(void)state;
	struct random_state random = random_seed(2);
	unsigned sets = 0;
	for (int set = 0; set < SETS; set++) {
		double p[30];
		for (size_t i = 0; i < COUNT_OF(p); i++)
			p[i] = draw_p(&random, 8, 0.05 * pow(1.6, (double)i));
		assert_int_equal(difference_control(p, COUNT_OF(p), p), 0);
		bool any = false;
		for (size_t i = 0; i < COUNT_OF(p); i++)
			any |= p[i] <= DIFFERENCE_FALSE_DISCOVERIES;
		sets += any;
	}
	printf("%.1f %% of sets have a row that seems to vary\n", sets / 10.0);
	if (sets > 50)
		fail_msg("%u of %d sets", sets, SETS);
}

/* Shares of totals that scatter themselves. */
static void shares_are_called_different_at_the_rate(void **state)
{
	(void)state;
	static const double shares[] = { 0.002, 0.1, 0.6 };
	struct random_state random = random_seed(3);
	for (size_t s = 0; s < COUNT_OF(shares); s++) {
		unsigned called = 0;
		for (int set = 0; set < 2 * SETS; set++) {
			struct dispersion_run runs[8];
			for (size_t i = 0; i < 8; i++) {
				double load = 500 * (1 + (double)i); /* one epoch is busier */
				double part = (double)poisson(&random, shares[s] * load);
				double all =
					part + (double)poisson(&random, (1 - shares[s]) * load);
				runs[i] = (struct dispersion_run){ .value = part,
								   .squares = part,
								   .whole = all,
								   .whole_squares = all,
								   .exposure = all };
			}
			called += p_of(runs, 8, DISPERSION_WITHIN) <= 0.05;
		}
		printf("share %g: %.2f %%\n", shares[s], called / 20.0);
		if (called < 60 || called > 140)
			fail_msg("%u of 2000", called);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tails_of_chi_square_are_those_of_tables),
		cmocka_unit_test(the_statistic_is_pearsons),
		cmocka_unit_test(weights_are_no_scatter),
		cmocka_unit_test(counts_without_squares_have_no_error),
		cmocka_unit_test(few_samples_have_their_exact_chance),
		cmocka_unit_test(many_rows_share_their_draws),
		cmocka_unit_test(other_rows_change_no_chance),
		cmocka_unit_test(equal_runs_are_called_different_at_the_rate),
		cmocka_unit_test(sets_of_equal_runs_have_no_culprit),
		cmocka_unit_test(shares_are_called_different_at_the_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
