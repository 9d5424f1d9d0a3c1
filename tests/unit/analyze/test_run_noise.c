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
#include "analyze/runs/run_noise.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/long_form.h"
#include "support/normal.h"
#include "support/poisson.h"

#define ROWS	  40
#define RUNS_MOST 8

/* How runs differ that are equal but for chance. */
struct world {
	const char *name;
	size_t runs[2]; /* of each side */
	double common;	/* relative deviation that all rows of a run share */
	double own;	/* and of each row by itself; the middle one's, where they differ */
	double unlike;	/* deviation of the logarithm of `own` among rows */
	double wild;	/* relative deviation of every tenth row, when above 0 */
	double changed; /* row 5 of the second side: by that factor */
};

static double own_deviation(const struct world *world, struct random_state *random, size_t row)
{
	if (world->wild > 0 && row % 10 == 5)
		return world->wild;
	return world->own * exp(world->unlike * normal(random));
}

/* Equal samples of weight 1; from 3 to 300,000 of a row in a run. */
static double mean_of(size_t row)
{
	return 3 * pow(1e5, (double)row / (ROWS - 1));
}

static void draw(const struct world *world, struct random_state *random,
		 double counts[ROWS][2][RUNS_MOST])
{
	double run_factor[2][RUNS_MOST];
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < world->runs[s]; r++)
			run_factor[s][r] = exp(world->common * normal(random));
	for (size_t row = 0; row < ROWS; row++) {
		double deviation = own_deviation(world, random, row);
		for (size_t s = 0; s < 2; s++)
			for (size_t r = 0; r < world->runs[s]; r++) {
				double mean = mean_of(row) * run_factor[s][r] *
					      exp(deviation * normal(random));
				if (s == 1 && row == ROWS - 10 && world->changed > 0)
					mean *= world->changed;
				/* of many the normal distribution, which is drawn faster */
				counts[row][s][r] =
					mean < 200 ? (double)poisson(random, mean)
						   : round(mean + sqrt(mean) * normal(random));
			}
	}
}

static struct run_scatter scatter_of(const struct world *world, double counts[2][RUNS_MOST],
				     struct cell sums[2])
{
	struct run_scatter scatter = { 0 };
	double samples = 0;
	for (size_t s = 0; s < 2; s++) {
		struct dispersion_run runs[RUNS_MOST];
		sums[s] = (struct cell){ 0 };
		for (size_t r = 0; r < world->runs[s]; r++) {
			uint64_t n = (uint64_t)counts[s][r];
			sums[s].samples += n;
			sums[s].estimate += n;
			sums[s].squares += n;
			runs[r] = (struct dispersion_run){ .value = counts[s][r],
							   .squares = counts[s][r],
							   .whole = 1e6,
							   .whole_squares = 1e6,
							   .exposure = 1 };
		}
		struct dispersion d = dispersion_of(runs, world->runs[s], DISPERSION_APART);
		scatter.statistic += d.statistic;
		scatter.degrees += d.degrees;
		samples += d.samples;
	}
	scatter.each = samples / (double)(world->runs[0] + world->runs[1]);
	return scatter;
}

static const struct difference_event raw = {
	.scale = { .factor = 1 },
	.before_whole = { 1000000000, 1000000000, 1000000000 },
	.after_whole = { 1000000000, 1000000000, 1000000000 },
};

/* Rows that are called changed: but for the planted one, and that one. */
struct called {
	unsigned rows, alone, planted, sets;
};

static void judge(const struct world *world, double counts[ROWS][2][RUNS_MOST],
		  struct called *called)
{
	struct run_scatter scatters[ROWS];
	struct cell sums[ROWS][2];
	double scratch[2 * ROWS], p[ROWS];
	for (size_t row = 0; row < ROWS; row++)
		scatters[row] = scatter_of(world, counts[row], sums[row]);
	double usual = run_noise_usual(scatters, ROWS, scratch);
	struct difference_event event = raw;
	event.scale.factor = (double)world->runs[1] / (double)world->runs[0];
	for (size_t row = 0; row < ROWS; row++) {
		struct difference_noise noise = run_noise_of(&scatters[row], usual);
		struct cell_change change = { sums[row][0], sums[row][1] };
		p[row] = difference_of_runs(&event, &change, DIFFERENCE_APART, &noise).p;
	}
	bool any = false;
	for (size_t row = 0; row < ROWS; row++)
		called->alone += p[row] <= 0.05;
	assert_int_equal(difference_control(p, ROWS, p), 0);
	for (size_t row = 0; row < ROWS; row++) {
		bool found = p[row] <= DIFFERENCE_FALSE_DISCOVERIES;
		if (row == ROWS - 10 && world->changed > 0) {
			called->planted += found;
			continue;
		}
		called->rows += found;
		any |= found;
	}
	called->sets += any;
}

/* Bounds have room for what fewer sets scatter more. */
#define SETS (LONG_FORM ? 400u : 150u)

static struct called simulate(const struct world *world)
{
	static double counts[ROWS][2][RUNS_MOST];
	struct random_state random = random_seed(7);
	struct called called = { 0 };
	for (unsigned set = 0; set < SETS; set++) {
		draw(world, &random, counts);
		judge(world, counts, &called);
	}
	printf("%-46s alone %5.2f %%, of the table %5.2f %% of rows, %5.1f %% of sets; planted "
	       "%5.1f %%\n",
	       world->name, called.alone * 100.0 / ROWS / SETS, called.rows * 100.0 / ROWS / SETS,
	       called.sets * 100.0 / SETS, called.planted * 100.0 / SETS);
	return called;
}

static const struct world equal[] = {
	{ "counting alone, 3 and 3", { 3, 3 }, 0, 0, 0, 0, 0 },
	{ "counting alone, 2 and 2", { 2, 2 }, 0, 0, 0, 0, 0 },
	{ "counting alone, 1 and 3", { 1, 3 }, 0, 0, 0, 0, 0 },
	{ "each row by 1 %, 3 and 3", { 3, 3 }, 0, 0.01, 0, 0, 0 },
	{ "each row by 10 %, 3 and 3", { 3, 3 }, 0, 0.1, 0, 0, 0 },
	{ "each row by 1 %, 2 and 2", { 2, 2 }, 0, 0.01, 0, 0, 0 },
	{ "each row by 1 %, 1 and 3", { 1, 3 }, 0, 0.01, 0, 0, 0 },
	{ "each row by 1 %, 8 and 8", { 8, 8 }, 0, 0.01, 0, 0, 0 },
	{ "all rows of a run by 2 %, 3 and 3", { 3, 3 }, 0.02, 0, 0, 0, 0 },
	{ "all by 2 % and each by 1 %, 3 and 3", { 3, 3 }, 0.02, 0.01, 0, 0, 0 },
	{ "rows unlike, about 1 %, 3 and 3", { 3, 3 }, 0, 0.01, 1, 0, 0 },
	{ "rows unlike, about 1 %, 8 and 8", { 8, 8 }, 0, 0.01, 1, 0, 0 },
	{ "every tenth by 30 %, others 0.5 %, 3 and 3", { 3, 3 }, 0, 0.005, 0, 0.3, 0 },
	{ "every tenth by 30 %, others 0, 3 and 3", { 3, 3 }, 0, 0, 0, 0.3, 0 },
};

static const struct {
	struct world world;
	double least; /* share of sets that find it */
} planted[] = {
	{ { "3 % planted, counting alone, 3 and 3", { 3, 3 }, 0, 0, 0, 0, 1.03 }, 0.7 },
	{ { "3 % planted, rows by 0.3 %, 3 and 3", { 3, 3 }, 0, 0.003, 0, 0, 1.03 }, 0.6 },
	{ { "3 % planted, rows by 0.5 %, 3 and 3", { 3, 3 }, 0, 0.005, 0, 0, 1.03 }, 0.3 },
	{ { "3 % planted, rows by 0.5 %, 5 and 5", { 5, 5 }, 0, 0.005, 0, 0, 1.03 }, 0.8 },
	{ { "3 % planted, rows by 1 %, 5 and 5", { 5, 5 }, 0, 0.01, 0, 0, 1.03 }, 0.3 },
	{ { "3 % planted, rows by 3 %, 3 and 3", { 3, 3 }, 0, 0.03, 0, 0, 1.03 }, 0 },
};

/* Whatever makes runs differ, few rows are called changed that are not: 5 % of them at most, and 5
 * % of sets have any. */
static void equal_runs_are_not_called_different(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(equal); i++) {
		struct called called = simulate(&equal[i]);
		if (called.rows > 0.02 * ROWS * SETS || called.sets > 0.09 * SETS)
			fail_msg("%s: %u rows, %u of %u sets", equal[i].name, called.rows,
				 called.sets, SETS);
	}
}

/* The control: with counting's error alone most sets have one. */
static void runs_have_an_error_that_counting_does_not_know(void **state)
{
	(void)state;
	struct random_state random = random_seed(8);
	const struct world world = { "each row by 1 %", { 3, 3 }, 0, 0.01, 0, 0, 0 };
	static double counts[ROWS][2][RUNS_MOST];
	unsigned sets = 0;
	for (unsigned set = 0; set < SETS; set++) {
		double p[ROWS];
		draw(&world, &random, counts);
		for (size_t row = 0; row < ROWS; row++) {
			struct cell sums[2];
			scatter_of(&world, counts[row], sums);
			struct cell_change change = { sums[0], sums[1] };
			p[row] = difference_of(&raw, &change, DIFFERENCE_APART).p;
		}
		assert_int_equal(difference_control(p, ROWS, p), 0);
		bool any = false;
		for (size_t row = 0; row < ROWS; row++)
			any |= p[row] <= DIFFERENCE_FALSE_DISCOVERIES;
		sets += any;
	}
	printf("counting alone: %.1f %% of sets\n", sets * 100.0 / SETS);
	assert_true(sets > 0.9 * SETS);
}

static void a_planted_change_is_found_where_the_noise_permits(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(planted); i++) {
		struct called called = simulate(&planted[i].world);
		if (called.planted < planted[i].least * SETS || called.sets > 0.12 * SETS)
			fail_msg("%s: %u, and %u of %u sets with others", planted[i].world.name,
				 called.planted, called.sets, SETS);
	}
}

/* ---- parts */

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

static void what_is_usual_is_the_middle_row(void **state)
{
	(void)state;
	struct run_scatter rows[20];
	double scratch[2 * COUNT_OF(rows)];
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		/* 0.0001 of the squared mean, and 0.839 is the median of chi-square / 4 */
		double each = 100 * (double)(i + 1);
		rows[i] = (struct run_scatter){ 4 * 0.8392 * (1 + 0.0001 * each), 4, each };
	}
	assert_near("usual", run_noise_usual(rows, 20, scratch), 0.0001, 1e-6);
	rows[19].statistic = 1e6; /* a wild one changes nothing */
	assert_near("usual", run_noise_usual(rows, 20, scratch), 0.0001, 1e-6);
	assert_true(isnan(run_noise_usual(rows, 7, scratch)));
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		rows[i].statistic = 1;
	assert_near("counting alone", run_noise_usual(rows, 20, scratch), 0, 0);
}

/* Of rows that one side lacks fewer runs tell the scatter: each row is held against its own
 * degrees, and the order of rows changes nothing. */
static void rows_of_fewer_runs_are_held_against_their_own_chance(void **state)
{
	(void)state;
	/* medians of chi-square (Abramowitz and Stegun 26.8) */
	static const struct {
		double degrees, median;
	} kinds[] = { { 4, 3.356694 }, { 2, 1.386294 }, { 1, 0.454936 } };
	double scratch[2 * 24];
	for (size_t last = 0; last < COUNT_OF(kinds); last++) {
		struct run_scatter rows[24];
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			size_t kind = (i + last) % COUNT_OF(kinds);
			double each = 100 * (double)(i + 1);
			rows[i] = (struct run_scatter){ kinds[kind].median * (1 + 0.0004 * each),
							kinds[kind].degrees, each };
		}
		assert_near("usual", run_noise_usual(rows, COUNT_OF(rows), scratch), 0.0004, 1e-8);
	}
}

/* Rows of 10 samples a run and more say what is usual, and so do 8 of them and more. */
static void rows_with_few_samples_say_nothing_of_the_runs(void **state)
{
	(void)state;
	static const struct {
		double each; /* of the eighth row */
		bool counts;
	} bounds[] = { { 10, true }, { 9.999, false }, { 0, false }, { 11, true } };
	for (size_t b = 0; b < COUNT_OF(bounds); b++) {
		struct run_scatter rows[30];
		double scratch[2 * COUNT_OF(rows)];
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			double each = i < 7 ? 1000 : i == 7 ? bounds[b].each : 9.5;
			/* what has few samples scatters without bounds, and is not looked at */
			rows[i] = (struct run_scatter){ i < 8 ? 3.356694 * (1 + 0.001 * each) : 1e9,
							4, each };
		}
		double usual = run_noise_usual(rows, COUNT_OF(rows), scratch);
		assert_int_equal(!isnan(usual), bounds[b].counts);
		if (bounds[b].counts)
			assert_near("usual", usual, 0.001, 1e-6);
		/* nor is a row whose scatter nothing is known of */
		rows[3].degrees = 0;
		assert_true(isnan(run_noise_usual(rows, COUNT_OF(rows), scratch)));
	}
	assert_true(isnan(run_noise_usual(NULL, 0, NULL)));
}

/* A row that scatters as one of ten such does by chance, with 2 degrees: 4.60517. */
static void a_row_counts_by_itself_from_one_in_ten_on(void **state)
{
	(void)state;
	struct run_scatter row = { .statistic = 4.6051 * 2, .degrees = 2, .each = 1000 };
	struct difference_noise noise = run_noise_of(&row, 0.001);
	assert_near("the larger one", noise.factor, 4.6051, 1e-9);
	assert_near("still the usual's", noise.degrees, 8, 1e-9);
	row.statistic = 4.6053 * 2;
	noise = run_noise_of(&row, 0.001);
	assert_near("its own", noise.factor, 4.6053, 1e-9);
	assert_near("its own degrees", noise.degrees, 2, 0);
}

static void a_row_has_the_usual_noise_or_its_own(void **state)
{
	(void)state;
	struct run_scatter row = { .statistic = 4, .degrees = 4, .each = 10000 };
	struct difference_noise noise = run_noise_of(&row, 0.0001);
	assert_near("usual", noise.factor, 2, 1e-12);
	assert_near("half of it is known", noise.degrees, 16, 1e-9);
	row.statistic = 400;
	noise = run_noise_of(&row, 0.0001);
	assert_near("its own", noise.factor, 100, 1e-12);
	assert_near("degrees", noise.degrees, 4, 0);
	row.statistic = 0.1; /* by chance: the usual stays */
	assert_near("usual", run_noise_of(&row, 0.0001).factor, 2, 1e-12);
	assert_near("never below counting", run_noise_of(&row, NAN).factor, 1, 0);
	assert_near("by itself", run_noise_of(&row, NAN).degrees, 4, 0);
	row.degrees = 0; /* one run a side */
	assert_near("unknown", run_noise_of(&row, NAN).factor, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_usual_is_the_middle_row),
		cmocka_unit_test(rows_of_fewer_runs_are_held_against_their_own_chance),
		cmocka_unit_test(rows_with_few_samples_say_nothing_of_the_runs),
		cmocka_unit_test(a_row_counts_by_itself_from_one_in_ten_on),
		cmocka_unit_test(a_row_has_the_usual_noise_or_its_own),
		cmocka_unit_test(equal_runs_are_not_called_different),
		cmocka_unit_test(runs_have_an_error_that_counting_does_not_know),
		cmocka_unit_test(a_planted_change_is_found_where_the_noise_permits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
