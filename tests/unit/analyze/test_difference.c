/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/figures/count_test.h"
#include "analyze/figures/difference.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/poisson.h"
#include "support/test_profile.h"

#define RUNS 4000

static struct cell counted(uint64_t estimate)
{
	return (struct cell){ .estimate = estimate };
}

static struct difference_event raw_event(struct cell before_whole, struct cell after_whole)
{
	return (struct difference_event){ .scale = difference_scale_raw(),
					  .before_whole = before_whole,
					  .after_whole = after_whole };
}

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.6g, not %.6g", what, value, wanted);
}

/* ---- the figures of VT200's article */

static void percents_are_those_of_the_article(void **state)
{
	(void)state;
	struct difference_event event = raw_event(counted(1115900), counted(1000000));
	struct cell_change cells = { counted(315804), counted(199904) };
	struct difference d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_near("against before", 100 * d.change_ratio.value, -36.70, 0.005);
	assert_near("global", 100 * d.change_of_after_total.value, -11.59, 0.005);
	assert_int_equal(d.verdict, DIFFERENCE_NO_ERROR_KNOWN);

	event = raw_event(counted(200), counted(100));
	cells = (struct cell_change){ counted(200), counted(100) };
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_near("against before", 100 * d.change_ratio.value, -50, 1e-9);
	assert_near("global", 100 * d.change_of_after_total.value, -100, 1e-9);
}

static void totals_hide_that_everything_is_twice_as_slow(void **state)
{
	(void)state;
	struct cell before = test_cell(10000, 1000), after = test_cell(20000, 1000);
	struct difference_event event = { .scale = difference_scale_counts(DIFFERENCE_TOTAL,
									   &before, &after),
					  .before_whole = before,
					  .after_whole = after };
	struct cell_change cells = { test_cell(4000, 1000), test_cell(8000, 1000) };
	struct difference d = difference_of(&event, &cells, DIFFERENCE_WITHIN);
	assert_near("against before", d.change_ratio.value, 0, 1e-12);
	assert_int_equal(d.verdict, DIFFERENCE_NOISE);
	cells = (struct cell_change){ before,
				      after }; /* the same by definition, without an error */
	d = difference_of(&event, &cells, DIFFERENCE_WITHIN);
	assert_near("p", d.p, 1, 0);
	assert_near("width", d.change.high - d.change.low, 0, 1e-3);
	event.scale = difference_scale_raw();
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_near("raw", d.change_ratio.value, 1, 1e-12);
	assert_int_equal(d.verdict, DIFFERENCE_SIGNIFICANT);
}

static void one_sample_is_no_news(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(1000, 4000), test_cell(1000, 4000));
	struct cell_change cells = { { 0 }, test_cell(1, 4000) };
	struct difference d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_NOISE);
	assert_int_equal(d.change_ratio.kind, ESTIMATE_ABSENT);
	assert_true(d.change.low < 0 && d.change.high > 4000);
	cells.after = test_cell(1, 400000); /* a heavy one is one all the same */
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_NOISE);
	cells = (struct cell_change){ test_cell(12, 4000), { 0 } };
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_SIGNIFICANT);
	assert_near("gone", d.change_ratio.value, -1, 0);
	cells = (struct cell_change){ { 0 }, { 0 } };
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_NOISE);
}

static void counts_say_what_they_are(void **state)
{
	(void)state;
	struct difference_event event = raw_event(counted(5000), counted(5000));
	struct cell_change cells = { counted(100), counted(200) };
	assert_int_equal(difference_of(&event, &cells, DIFFERENCE_APART).verdict,
			 DIFFERENCE_NO_ERROR_KNOWN);
	event.before_counts = event.after_counts = DIFFERENCE_COUNTS_SAMPLES;
	struct difference d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_SIGNIFICANT);
	assert_true(d.change.low > 60 && d.change.low < 70);
	event.step = 1000; /* a tenth of a sample and two tenths */
	assert_int_equal(difference_of(&event, &cells, DIFFERENCE_APART).verdict, DIFFERENCE_NOISE);
	event.before_counts = event.after_counts = DIFFERENCE_COUNTS_EXACT;
	cells.after.estimate = 101;
	d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.verdict, DIFFERENCE_SIGNIFICANT);
	assert_near("low", d.change.low, 1, 0);
	assert_near("high", d.change.high, 1, 0);
	cells.after.estimate = 100;
	assert_int_equal(difference_of(&event, &cells, DIFFERENCE_APART).verdict, DIFFERENCE_NOISE);
}

static void without_a_factor_there_is_no_change(void **state)
{
	(void)state;
	struct cell none = { 0 }, some = test_cell(10, 10);
	struct difference_event event = { .scale = difference_scale_counts(DIFFERENCE_EVENT, &none,
									   &some),
					  .before_whole = some,
					  .after_whole = some };
	struct cell_change cells = { some, some };
	struct difference d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_int_equal(d.change.kind, ESTIMATE_ABSENT);
	assert_int_equal(d.verdict, DIFFERENCE_NO_ERROR_KNOWN);
	assert_int_equal(d.before_share.kind, ESTIMATE_INTERVAL);
	assert_true(difference_scale_seconds(0, 1).factor <= 0);
}

/* The length of its recording is what is known of a side that has no sample to weigh. */
static void a_side_without_samples_weighs_by_the_factor(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(12, 1000), (struct cell){ 0 });
	event.scale = difference_scale_seconds(10, 30);
	struct cell_change cells = { test_cell(12, 1000), { 0 } };
	struct difference d = difference_of(&event, &cells, DIFFERENCE_APART);
	assert_near("12 and 0 of 1:1", d.p / pow(0.5, 12), 1, 1e-9);
}

static void an_exact_side_has_the_weights_of_the_other(void **state)
{
	(void)state;
	struct difference_event event = raw_event(counted(9000), test_cell(90, 100));
	event.before_counts = DIFFERENCE_COUNTS_EXACT;
	struct cell_change cells = { counted(1000), test_cell(20, 100) };
	/* 10 and 20 samples, of which the 10 have no variance: half of the usual */
	double p = count_test_p(40, 20, 1);
	assert_near("after", difference_of(&event, &cells, DIFFERENCE_APART).p, p, 1e-12);
	event = raw_event(event.after_whole, event.before_whole);
	event.after_counts = DIFFERENCE_COUNTS_EXACT;
	cells = (struct cell_change){ cells.after, cells.before };
	assert_near("before", difference_of(&event, &cells, DIFFERENCE_APART).p, p, 1e-12);
}

/* --counts is of counts whose error is not known. */
static void samples_stay_samples_whatever_counts_are(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(100, 1000), test_cell(100, 1000));
	struct cell_change cells = { test_cell(10, 1000), test_cell(14, 1000) };
	double p = difference_of(&event, &cells, DIFFERENCE_APART).p;
	event.before_counts = event.after_counts = DIFFERENCE_COUNTS_SAMPLES;
	assert_near("p", difference_of(&event, &cells, DIFFERENCE_APART).p, p, 0);
}

/* ---- the test against tables */

/* Sums of binomial terms in exact arithmetic (Python's fractions). */
static void few_counts_take_the_binomial(void **state)
{
	(void)state;
	assert_near("0 and 1", count_test_p(0, 1, 1), 0.5, 1e-12);
	assert_near("0 and 4", count_test_p(0, 4, 1), 0.0625, 1e-12);
	assert_near("3 and 9", count_test_p(3, 9, 1), 2 * (79 + 110) / 4096.0, 1e-12);
	assert_near("5 and 0 of 1:4", count_test_p(5, 0, 0.25), pow(0.2, 5), 1e-15);
	assert_near("small tails keep their digits", count_test_p(0, 60, 1) / pow(0.5, 60), 1,
		    1e-9);
	double few = count_test_p(440, 560, 1), many = count_test_p(440.5, 560.5, 1);
	assert_near("where the methods meet", many / few, 1, 0.02);
}

/* ---- simulations */

struct trial {
	double mean;	    /* of the row's samples before */
	double before_rest; /* of the rest of the total */
	double after_rest;
	double ratio; /* truth: after / scaled before */
	uint64_t before_weight, after_weight;
	bool uneven; /* weights from half to one and a half of that */
	enum difference_base base;
};

static struct cell draw(struct random_state *random, double mean, uint64_t weight, bool uneven)
{
	uint64_t n = poisson(random, mean);
	if (!uneven)
		return test_cell(n, weight);
	struct cell cell = { 0 };
	for (; n > 0; n--) {
		struct cell one = test_cell(1, weight / 2 + random_below(random, weight + 1));
		cell_add(&cell, &one);
	}
	return cell;
}

/* One comparison whose truth is trial->ratio. */
static struct difference one_run(struct random_state *random, const struct trial *trial)
{
	/* the factor that the base will find, but for chance */
	double factor = trial->base == DIFFERENCE_RAW	   ? 1
			: trial->base == DIFFERENCE_SECOND ? 3
							   : 0;
	double weights = (double)trial->before_weight / (double)trial->after_weight;
	double rest = trial->after_rest;
	if (trial->base == DIFFERENCE_TOTAL) /* shares: p, and p * ratio */
		factor = rest /
			 (1 - trial->mean / (trial->mean + trial->before_rest) * trial->ratio) *
			 (1 / (trial->mean + trial->before_rest)) / weights;
	if (trial->base == DIFFERENCE_EVENT)
		factor = rest / trial->before_rest / weights;
	struct cell_change cells = { draw(random, trial->mean, trial->before_weight, trial->uneven),
				     draw(random, trial->mean * factor * weights * trial->ratio,
					  trial->after_weight, trial->uneven) };
	struct cell before = draw(random, trial->before_rest, trial->before_weight, trial->uneven);
	struct cell after = draw(random, rest, trial->after_weight, trial->uneven);
	struct difference_event event = { .scale = difference_scale_raw() };
	if (trial->base == DIFFERENCE_SECOND)
		event.scale = difference_scale_seconds(10, 30);
	if (trial->base == DIFFERENCE_EVENT)
		event.scale = difference_scale_counts(trial->base, &before, &after);
	cell_add(&before, &cells.before);
	cell_add(&after, &cells.after);
	if (trial->base == DIFFERENCE_TOTAL)
		event.scale = difference_scale_counts(trial->base, &before, &after);
	event.before_whole = before;
	event.after_whole = after;
	return difference_of(&event, &cells,
			     trial->base == DIFFERENCE_TOTAL ? DIFFERENCE_WITHIN
							     : DIFFERENCE_APART);
}

static const struct trial unchanged[] = {
	{ 1, 1000, 1000, 1, 1000, 1000, false, DIFFERENCE_RAW },
	{ 3, 1000, 1000, 1, 1000, 1000, false, DIFFERENCE_RAW },
	{ 8, 1000, 1000, 1, 1000, 1000, false, DIFFERENCE_RAW },
	{ 30, 1000, 1000, 1, 1000, 1000, false, DIFFERENCE_RAW },
	{ 600, 1000, 1000, 1, 1000, 1000, false, DIFFERENCE_RAW },
	{ 40, 1000, 4000, 1, 4000, 1000, false, DIFFERENCE_RAW }, /* other periods */
	{ 40, 1000, 250, 1, 1000, 4000, false, DIFFERENCE_RAW },
	{ 30, 1000, 1000, 1, 1000, 1000, true, DIFFERENCE_RAW },
	{ 20, 1000, 3000, 1, 1000, 1000, false, DIFFERENCE_SECOND },
	{ 20, 400, 900, 1, 1000, 1000, false, DIFFERENCE_TOTAL },
	{ 300, 700, 300, 1, 1000, 1000, false, DIFFERENCE_TOTAL },
	{ 900, 100, 100, 1, 1000, 1000, false, DIFFERENCE_TOTAL },
	{ 50, 60, 60, 1, 1000, 1000, false,
	  DIFFERENCE_EVENT }, /* the unit of work is sampled too */
	{ 500, 100, 300, 1, 1000, 2000, true, DIFFERENCE_EVENT },
};

/* Where nothing changed, 5 % are found, or less where counts are few. */
static void chance_is_found_at_its_rate(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT_OF(unchanged); t++) {
		struct random_state random = random_seed(100 + t);
		unsigned found = 0, rare = 0;
		for (int run = 0; run < RUNS; run++) {
			struct difference d = one_run(&random, &unchanged[t]);
			assert_false(isnan(d.p));
			found += d.p <= 0.05;
			rare += d.p <= 0.001;
		}
		double share = (double)found / RUNS;
		double least = unchanged[t].mean < 5 ? 0 : unchanged[t].mean < 20 ? 0.03 : 0.04;
		if (share > 0.06 || share < least || rare > 12)
			fail_msg("trial %zu: %.2f %% found where nothing changed, %u of %u at 0.1 "
				 "%%",
				 t, 100 * share, rare, RUNS);
	}
}

static const struct trial changed[] = {
	{ 12, 1000, 1000, 2, 1000, 1000, false, DIFFERENCE_RAW },
	{ 40, 1000, 1000, 1.5, 1000, 1000, false, DIFFERENCE_RAW },
	{ 400, 1000, 1000, 0.9, 1000, 1000, false, DIFFERENCE_RAW },
	{ 40, 1000, 4000, 0.7, 4000, 1000, false, DIFFERENCE_RAW },
	{ 100, 1000, 1000, 1.2, 1000, 1000, true, DIFFERENCE_RAW },
	{ 30, 1000, 3000, 1.3, 1000, 1000, false, DIFFERENCE_SECOND },
	{ 100, 900, 500, 1.4, 1000, 1000, false, DIFFERENCE_TOTAL },
	{ 500, 500, 500, 0.9, 1000, 1000, false, DIFFERENCE_TOTAL },
	{ 100, 50, 70, 1.5, 1000, 1000, false, DIFFERENCE_EVENT },
};

static void assert_held(const char *what, size_t trial, unsigned held)
{
	double share = (double)held / RUNS;
	if (share < 0.93 || share > 0.975)
		fail_msg("trial %zu: the interval of the %s held the truth in %.2f %% of the runs",
			 trial, what, 100 * share);
}

static void intervals_of_changes_hold_the_truth(void **state)
{
	(void)state;
	for (size_t t = 0; t < COUNT_OF(changed); t++) {
		struct random_state random = random_seed(200 + t);
		const struct trial *trial = &changed[t];
		unsigned ratios = 0, changes = 0;
		for (int run = 0; run < RUNS; run++) {
			struct difference d = one_run(&random, trial);
			ratios += d.change_ratio.low <= trial->ratio - 1 &&
				  d.change_ratio.high >= trial->ratio - 1;
			/* with a factor that varies, the truth of the difference varies with it */
			double truth =
				trial->base == DIFFERENCE_TOTAL || trial->base == DIFFERENCE_EVENT
					? NAN
					: trial->mean * (double)trial->before_weight *
						  (trial->ratio - 1) *
						  (trial->base == DIFFERENCE_SECOND ? 3 : 1);
			changes +=
				isnan(truth) || (d.change.low <= truth && d.change.high >= truth);
			assert_true(d.change.low <= d.change.value &&
				    d.change.value <= d.change.high);
		}
		assert_held("ratio", t, ratios);
		if (trial->base == DIFFERENCE_RAW || trial->base == DIFFERENCE_SECOND)
			assert_held("change", t, changes);
	}
}

/* The chance that a test at 5 % finds a change by `ratio`: what difference_least_ratio() inverts
 * (docs/methods.md). */
static double power(double before, double after, double ratio)
{
	double same = after / before;
	double mean =
		2 * (sqrt(ratio * after + 0.375) - sqrt(same * (before + 0.375))) / sqrt(1 + same);
	return (erfc((COUNT_TEST_Z_95 - mean) / M_SQRT2) +
		erfc((COUNT_TEST_Z_95 + mean) / M_SQRT2)) /
	       2;
}

static void power_is_as_computed(void **state)
{
	(void)state;
	static const struct {
		double before, after, ratio;
	} cases[] = {
		{ 20, 20, 2 },	    { 100, 100, 1.3 }, { 100, 400, 0.8 },
		{ 1000, 500, 1.1 }, { 300, 300, 1 },
	};
	for (size_t t = 0; t < COUNT_OF(cases); t++) {
		struct random_state random = random_seed(300 + t);
		unsigned found = 0;
		for (int run = 0; run < RUNS; run++) {
			uint64_t before = poisson(&random, cases[t].before);
			uint64_t after = poisson(&random, cases[t].after * cases[t].ratio);
			found += count_test_p((double)after, (double)before,
					      cases[t].after / cases[t].before) <= 0.05;
		}
		assert_near("power", (double)found / RUNS,
			    power(cases[t].before, cases[t].after, cases[t].ratio), 0.03);
	}
	double least = difference_least_ratio(200, 800);
	assert_near("power at the least ratio", power(200, 800, least), 0.8, 0.001);
	assert_true(isinf(difference_least_ratio(0, 10)));
}

/* ---- many rows */

static void false_discoveries_are_controlled(void **state)
{
	(void)state;
	static const double published[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201,
					    0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
					    0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	double q[COUNT_OF(published)];
	assert_int_equal(difference_control(published, COUNT_OF(published), q), 0);
	unsigned found = 0;
	for (size_t i = 0; i < COUNT_OF(q); i++)
		found += q[i] <= 0.05;
	assert_int_equal(found, 4); /* as in section 4.1 of Benjamini and Hochberg 1995 */

	double steep[] = { 0.02,
			   0.021 }; /* the larger p counts as found, and with it the smaller */
	assert_int_equal(difference_control(steep, 2, steep), 0);
	assert_near("the smaller p", steep[0], 0.021, 1e-15);
	assert_near("the larger p", steep[1], 0.021, 1e-15);

	struct random_state random = random_seed(400);
	struct difference_event event = raw_event(test_cell(100000, 1000), test_cell(100000, 1000));
	double false_share = 0;
	unsigned missed = 0;
	for (int run = 0; run < 200; run++) {
		double p[500]; /* the first 50 have changed */
		unsigned wrong = 0, right = 0;
		for (size_t i = 0; i < COUNT_OF(p); i++) {
			double mean = i < 50 ? 200 : 1 + (double)i / 2;
			struct cell_change cells = {
				test_cell(poisson(&random, mean), 1000),
				test_cell(poisson(&random, i < 50 ? 1.5 * mean : mean), 1000)
			};
			p[i] = difference_of(&event, &cells, DIFFERENCE_APART).p;
		}
		assert_int_equal(difference_control(p, COUNT_OF(p), p), 0);
		for (size_t i = 0; i < COUNT_OF(p); i++)
			if (p[i] <= DIFFERENCE_FALSE_DISCOVERIES)
				*(i < 50 ? &right : &wrong) += 1;
		missed += 50 - right;
		false_share += right + wrong ? (double)wrong / (right + wrong) : 0;
	}
	if (false_share / 200 > 0.06 || missed > 200 * 50 / 10)
		fail_msg("%.2f %% of the discoveries are false, %u of 10000 changes were missed",
			 false_share / 2, missed);
}

static void what_has_no_error_is_not_judged(void **state)
{
	(void)state;
	double p[3] = { NAN, 0.04, NAN };
	assert_int_equal(difference_control(p, 3, p), 0);
	assert_true(isnan(p[0]) && isnan(p[2]));
	assert_near("alone", p[1], 0.04, 0);
	struct difference d = { .verdict = DIFFERENCE_SIGNIFICANT };
	difference_judge(&d, NAN);
	assert_int_equal(d.verdict, DIFFERENCE_NO_ERROR_KNOWN);
	difference_judge(&d, 0.05);
	assert_int_equal(d.verdict, DIFFERENCE_SIGNIFICANT);
	difference_judge(&d, 0.0501);
	assert_int_equal(d.verdict, DIFFERENCE_NOISE);
	assert_int_equal(difference_control(NULL, 0, NULL), 0);
}

/* ---- instructions and CPI */

static void a_split_adds_up(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(9000, 1000), test_cell(9000, 1000));
	event.scale = difference_scale_seconds(2, 3);
	struct cell_change cycles = { test_cell(1000, 1000), test_cell(2400, 1000) };
	struct cell_change instructions = { test_cell(1000, 2000), test_cell(1800, 2000) };
	struct difference d = difference_of(&event, &cycles, DIFFERENCE_APART);
	struct difference_split split =
		difference_split_of(&event, &cycles, &instructions, RATIO_INDEPENDENT);
	assert_near("sum", split.instructions.value + split.cpi.value, d.change.value, 1e-3);
	/* 3 M to 3.6 M instructions at CPI 0.5 to 2/3 */
	assert_near("instructions", split.instructions.value, 600e3 * (0.5 + 2.0 / 3) / 2, 1e-3);
	assert_near("CPI", split.cpi.value, 3.3e6 / 6, 1e-3);
	instructions.before = (struct cell){ 0 };
	split = difference_split_of(&event, &cycles, &instructions, RATIO_INDEPENDENT);
	assert_int_equal(split.instructions.kind, ESTIMATE_ABSENT);
	assert_int_equal(split.cpi.kind, ESTIMATE_ABSENT);
}

/* Nothing has changed, at CPI 0.5. */
static struct difference_split split_of(const struct difference_event *event, uint64_t samples,
					struct cell instructions, enum ratio_samples hang)
{
	struct cell_change cycles = { test_cell(samples, 1000), test_cell(samples, 1000) };
	struct cell_change both = { instructions, instructions };
	return difference_split_of(event, &cycles, &both, hang);
}

static double reach_of(const struct estimate *estimate)
{
	return estimate->high - estimate->value;
}

static void a_split_needs_ten_samples_for_its_error(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(9000, 1000), test_cell(9000, 1000));
	struct difference_split few = split_of(&event, 9, test_cell(9, 2000), RATIO_INDEPENDENT);
	assert_int_equal(few.cpi.kind, ESTIMATE_VALUE);
	assert_true(isnan(few.cpi_p));
	struct difference_split enough =
		split_of(&event, 10, test_cell(10, 2000), RATIO_INDEPENDENT);
	assert_int_equal(enough.cpi.kind, ESTIMATE_INTERVAL);
	assert_near("p of nothing", enough.cpi_p, 1, 0);
}

static void a_split_of_exact_counts_is_exact(void **state)
{
	(void)state;
	struct difference_event event = raw_event(counted(9000), counted(9000));
	struct cell_change cycles = { counted(1000), counted(2400) };
	struct cell_change instructions = { counted(2000), counted(2000) };
	assert_int_equal(
		difference_split_of(&event, &cycles, &instructions, RATIO_INDEPENDENT).cpi.kind,
		ESTIMATE_VALUE);
	event.before_counts = event.after_counts = DIFFERENCE_COUNTS_EXACT;
	struct difference_split split =
		difference_split_of(&event, &cycles, &instructions, RATIO_INDEPENDENT);
	assert_int_equal(split.cpi.kind, ESTIMATE_INTERVAL);
	assert_near("reach", reach_of(&split.cpi), 0, 0);
	assert_near("p of a change", split.cpi_p, 0, 0);
	assert_near("p of none", split.instructions_p, 1, 0);
}

/* The factor is the same for both sides of the sum, so its error is the whole cost's. */
static void the_error_of_a_factor_reaches_the_split(void **state)
{
	(void)state;
	struct cell requests = test_cell(50, 1);
	struct difference_event event = raw_event(test_cell(9000, 1000), test_cell(9000, 1000));
	struct cell instructions = test_cell(100, 2000);
	struct difference_split sure = split_of(&event, 100, instructions, RATIO_INDEPENDENT);
	event.scale = difference_scale_counts(DIFFERENCE_EVENT, &requests, &requests);
	struct difference_split unsure = split_of(&event, 100, instructions, RATIO_INDEPENDENT);
	double added =
		pow(reach_of(&unsure.instructions), 2) - pow(reach_of(&sure.instructions), 2);
	double wanted = pow(COUNT_TEST_Z_95 * 100e3, 2) * (1 / 50. + 1 / 50.);
	assert_near("variance of the instructions' part", added / wanted, 1, 1e-9);
	assert_near("reach of CPI's part", reach_of(&unsure.cpi) / reach_of(&sure.cpi), 1, 1e-9);
}

/* Estimates can have smaller errors than their number of samples makes, never negative ones. */
static void grouped_errors_have_no_more_in_common_than_they_are(void **state)
{
	(void)state;
	struct difference_event event = raw_event(test_cell(9000, 1000), test_cell(9000, 1000));
	const struct cell steady = { .estimate = 200000, .squares = 100000000 };
	struct difference_split split = split_of(&event, 100, steady, RATIO_GROUPED);
	/* of each side 1e8 + 1e8/4 - 1e8 */
	assert_near("reach", reach_of(&split.cpi) / (COUNT_TEST_Z_95 * sqrt(2 * 0.25e8)), 1, 1e-9);
}

static void draw_pair(struct random_state *random, double mean, double per_sample, bool grouped,
		      struct cell *cycles, struct cell *instructions)
{
	*cycles = test_cell(poisson(random, mean), 1000000);
	if (!grouped) {
		*instructions = test_cell(poisson(random, mean * per_sample), 1000000);
		return;
	}
	*instructions = (struct cell){ 0 };
	uint64_t middle = (uint64_t)(per_sample * 1e6);
	for (uint64_t n = cycles->samples; n > 0; n--) {
		struct cell one = test_cell(1, middle / 2 + random_below(random, middle + 1));
		cell_add(instructions, &one);
	}
	instructions->samples = 0;
}

static void intervals_of_splits_hold_the_truth(void **state)
{
	(void)state;
	static const double means[] = { 60, 400 };
	for (size_t t = 0; t < 2 * COUNT_OF(means); t++) {
		struct random_state random = random_seed(500 + t);
		bool grouped = t % 2;
		double mean = means[t / 2];
		struct difference_event event =
			raw_event(test_cell(9000, 1000000), test_cell(9000, 1000000));
		unsigned held[2] = { 0, 0 };
		/* before: IPC 2; after: IPC 1.5 and 1.2 times the instructions */
		double i0 = mean * 2, i1 = 1.2 * i0, c1 = i1 / 1.5;
		double truth[2] = { (i1 - i0) * (0.5 + 1 / 1.5) / 2 * 1e6,
				    (1 / 1.5 - 0.5) * (i0 + i1) / 2 * 1e6 };
		for (int run = 0; run < RUNS; run++) {
			struct cell_change cycles, instructions;
			draw_pair(&random, mean, 2, grouped, &cycles.before, &instructions.before);
			draw_pair(&random, c1, 1.5, grouped, &cycles.after, &instructions.after);
			struct difference_split split =
				difference_split_of(&event, &cycles, &instructions,
						    grouped ? RATIO_GROUPED : RATIO_INDEPENDENT);
			held[0] += split.instructions.low <= truth[0] &&
				   truth[0] <= split.instructions.high;
			held[1] += split.cpi.low <= truth[1] && truth[1] <= split.cpi.high;
		}
		assert_held("instructions' part", t, held[0]);
		assert_held("CPI's part", t, held[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percents_are_those_of_the_article),
		cmocka_unit_test(totals_hide_that_everything_is_twice_as_slow),
		cmocka_unit_test(one_sample_is_no_news),
		cmocka_unit_test(counts_say_what_they_are),
		cmocka_unit_test(without_a_factor_there_is_no_change),
		cmocka_unit_test(a_side_without_samples_weighs_by_the_factor),
		cmocka_unit_test(an_exact_side_has_the_weights_of_the_other),
		cmocka_unit_test(samples_stay_samples_whatever_counts_are),
		cmocka_unit_test(few_counts_take_the_binomial),
		cmocka_unit_test(chance_is_found_at_its_rate),
		cmocka_unit_test(intervals_of_changes_hold_the_truth),
		cmocka_unit_test(power_is_as_computed),
		cmocka_unit_test(false_discoveries_are_controlled),
		cmocka_unit_test(what_has_no_error_is_not_judged),
		cmocka_unit_test(a_split_adds_up),
		cmocka_unit_test(a_split_needs_ten_samples_for_its_error),
		cmocka_unit_test(a_split_of_exact_counts_is_exact),
		cmocka_unit_test(the_error_of_a_factor_reaches_the_split),
		cmocka_unit_test(grouped_errors_have_no_more_in_common_than_they_are),
		cmocka_unit_test(intervals_of_splits_hold_the_truth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
