/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/names/resolve.h"
#include "analyze/spread/spread.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/runs.h"
#include "support/long_form.h"
#include "support/normal.h"
#include "support/poisson.h"
#include "support/test_profile.h"

#define RUNS 8

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

struct made {
	struct profile *profile;
	struct resolver *resolver;
	struct spread *spread;
	struct error err;
	int ret;
};

/* Takes the runs' profiles. */
static struct made make(struct test_profile *runs, size_t count, struct spread_options options)
{
	struct made made = { .profile = profile_new() };
	const struct resolver_options naming = { .stash_only = true };
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(profile_mark_run(runs[i].profile, i + 1, &made.err), 0);
		assert_int_equal(profile_merge(made.profile, runs[i].profile, &made.err), 0);
		profile_free(runs[i].profile);
	}
	assert_int_equal(resolver_new(made.profile, &naming, &made.resolver, &made.err), 0);
	if (options.report.part_count == 0)
		options.report.parts[options.report.part_count++] = REPORT_PROCEDURE;
	made.ret =
		spread_new(made.profile, made.resolver, count, &options, &made.spread, &made.err);
	return made;
}

static void done(struct made *made)
{
	spread_free(made->spread);
	resolver_free(made->resolver);
	profile_free(made->profile);
}

static const struct spread_row *row_of(const struct spread *spread, const char *name)
{
	for (size_t i = 0; i < spread->row_count; i++)
		if (strcmp(spread->rows[i].row->texts[REPORT_PROCEDURE], name) == 0)
			return &spread->rows[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

/* ---- dcpistats */

/* Figure 3 of Anderson et al., SOSP 1997; of runs between the least and the most the paper has sum
 * and deviation alone, which these have, too. */
static const struct figure {
	const char *name;
	double range, sum, share, mean, deviation, least, most;
	uint64_t counts[RUNS];
} figure[] = {
	{ "smooth_",
	  11.32,
	  441040,
	  6.17,
	  55130.00,
	  21168.70,
	  38155,
	  88075,
	  { 38155, 39042, 42193, 40722, 86648, 61099, 88075, 45106 } },
	{ "fftb_",
	  1.44,
	  72385,
	  1.01,
	  9048.12,
	  368.74,
	  8578,
	  9622,
	  { 8578, 8616, 8999, 8874, 9407, 9276, 9622, 9013 } },
	{ "fftf_",
	  1.39,
	  71129,
	  1.00,
	  8891.12,
	  327.68,
	  8467,
	  9453,
	  { 8467, 8629, 8790, 8656, 9198, 9057, 9453, 8879 } },
	{ "parmvr_",
	  0.94,
	  4242079,
	  59.37,
	  530259.87,
	  14097.11,
	  515253,
	  555180,
	  { 515253, 517489, 523497, 520919, 545852, 532004, 555180, 531885 } },
	{ "putb_",
	  0.68,
	  378622,
	  5.30,
	  47327.75,
	  1032.09,
	  46206,
	  48786,
	  { 46206, 46258, 46949, 46413, 48491, 48092, 48786, 47427 } },
	{ "vsivlp_",
	  0.65,
	  410929,
	  5.75,
	  51366.13,
	  1161.61,
	  50420,
	  53110,
	  { 50420, 50486, 50562, 50519, 52695, 52441, 53110, 50696 } },
};
static const uint64_t figure_totals[RUNS] = { 860301, 862645, 871952, 870780,
					      942929, 893154, 951871, 890969 };

static void the_figure_of_dcpistats(void **state)
{
	(void)state;
	struct test_profile runs[RUNS];
	for (size_t r = 0; r < RUNS; r++) {
		uint64_t others = figure_totals[r];
		runs[r] = test_profile_new();
		test_event(&runs[r], "cycles", 1);
		for (size_t i = 0; i < COUNT_OF(figure); i++) {
			test_flat(&runs[r], figure[i].name, figure[i].counts[r], 1);
			others -= figure[i].counts[r];
		}
		test_flat(&runs[r], "others", others, 1);
	}
	struct made made = make(runs, RUNS, (struct spread_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct spread *spread = made.spread;
	for (size_t i = 0; i < COUNT_OF(figure); i++) {
		const struct figure *wanted = &figure[i];
		const struct spread_row *row = row_of(spread, wanted->name);
		assert_near("range", 100 * row->range_ratio, wanted->range, 0.005);
		assert_near("sum", row->total, wanted->sum, 0);
		assert_near("share", 100 * row->share, wanted->share, 0.005);
		assert_int_equal(row->runs, RUNS);
		/* the paper rounds 9048.125 to even */
		assert_near("mean", row->mean, wanted->mean, 0.00501);
		assert_near("deviation", row->deviation, wanted->deviation, 0.005);
		assert_near("least", row->least, wanted->least, 0);
		assert_near("most", row->most, wanted->most, 0);
		assert_int_equal(row->least_run, 0);
		assert_int_equal(row->most_run, 6);
		assert_int_equal(row->verdict, DIFFERENCE_SIGNIFICANT);
	}
	assert_near("total", spread->whole.total, 7144601, 0);
	assert_near("total's mean", spread->whole.mean, 7144601 / 8.0, 1e-6);
	assert_near("total's range", 100 * spread->whole.range_ratio, 1.28, 0.005);
	/* in the figure's order, by range */
	size_t at = 0;
	for (size_t i = 0; i < spread->row_count && at < COUNT_OF(figure); i++)
		at += strcmp(spread->rows[i].row->texts[REPORT_PROCEDURE], figure[at].name) == 0;
	assert_int_equal(at, COUNT_OF(figure));
	assert_string_equal(spread->rows[0].row->texts[REPORT_PROCEDURE], "smooth_");
	done(&made);
}

/* ---- seeded sets */

#define PROCEDURES 30

/* Runs of a program with procedures from 2 samples on; one of them by `factor` in one run. */
static struct made draw(struct random_state *random, size_t planted, double factor, double load)
{
	struct test_profile runs[RUNS];
	for (size_t r = 0; r < RUNS; r++) {
		double speed = exp(load * normal(random));
		runs[r] = test_profile_new();
		test_event(&runs[r], "cycles", 1000000);
		for (size_t i = 0; i < PROCEDURES; i++) {
			char name[16];
			double mean = 2 * pow(1.28, (double)i) * speed;
			if (i == planted && r == 5)
				mean *= factor;
			snprintf(name, sizeof(name), "p%zu", i);
			test_flat(&runs[r], name, poisson(random, mean), 1000000);
		}
	}
	struct spread_options options = { .base_given = true,
					  .base = load > 0 ? SPREAD_TOTAL : SPREAD_RAW };
	return make(runs, RUNS, options);
}

static void a_planted_culprit_comes_first(void **state)
{
	(void)state;
	struct random_state random = random_seed(11);
	unsigned first = 0;
	for (int set = 0; set < 100; set++) {
		struct made made = draw(&random, 24, 1.4, 0);
		assert_int_equal(made.ret, 0);
		const struct spread_row *row = &made.spread->rows[0];
		first += strcmp(row->row->texts[REPORT_PROCEDURE], "p24") == 0 &&
			 row->verdict == DIFFERENCE_SIGNIFICANT && row->most_run == 5;
		done(&made);
	}
	printf("first in %u of 100 sets\n", first);
	if (first < 95)
		fail_msg("first in %u of 100 sets", first);
}

/* One procedure at 5 %, and all of a table together; the load of runs is no culprit of shares. */
static void equal_runs_have_no_culprit(void **state)
{
	(void)state;
	static const double loads[] = { 0, 0.3 };
	for (size_t l = 0; l < COUNT_OF(loads); l++) {
		struct random_state random = random_seed(12);
		unsigned alone = 0, sets = 0;
		/* the short form draws 400, whose bounds are as far from 5 % in deviations */
		unsigned all = LONG_FORM ? 1000 : 400;
		for (unsigned set = 0; set < all; set++) {
			struct made made = draw(&random, 0, 1, loads[l]);
			assert_int_equal(made.ret, 0);
			alone += row_of(made.spread, "p24")->p <= 0.05;
			sets += made.spread->significant > 0;
			done(&made);
		}
		printf("load by %g: %.1f %% of p24, %.1f %% of sets\n", loads[l],
		       100.0 * alone / all, 100.0 * sets / all);
		if (alone * 100 < 3 * all || alone * 100 > 7 * all ||
		    sets * 100 > (LONG_FORM ? 5 : 6) * all)
			fail_msg("%u and %u of %u", alone, sets, all);
	}
}

/* ---- rows and runs */

static void rows_of_several_builds_are_one(void **state)
{
	(void)state;
	struct test_profile runs[2] = { test_profile_new(), test_profile_new() };
	for (size_t r = 0; r < 2; r++) {
		test_event(&runs[r], "cycles", 1000);
		test_image(&runs[r], IMAGE_FILE, "/bin/app", r ? "\x02" : "\x01");
		test_flat(&runs[r], "work", 100 + r, 1000);
		if (r == 0)
			test_flat(&runs[r], "gone", 20, 1000);
	}
	struct made made = make(runs, 2, (struct spread_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct spread_row *work = row_of(made.spread, "work");
	assert_int_equal(work->builds, 2);
	assert_int_equal(work->cells[0].samples, 100);
	assert_int_equal(work->cells[1].samples, 101);
	const struct spread_row *gone = row_of(made.spread, "gone");
	assert_int_equal(gone->runs, 2);
	assert_int_equal(gone->seen, 1);
	assert_near("least", gone->least, 0, 0);
	assert_int_equal(gone->verdict, DIFFERENCE_SIGNIFICANT);
	assert_string_equal(made.spread->rows[0].row->texts[REPORT_PROCEDURE], "gone");
	done(&made);
}

/* A program that was built anew between runs: twins of one name are rows of one build. */
static void builds_are_counted_and_not_rows(void **state)
{
	(void)state;
	static const char *const builds[] = { "\x01", "\x02", "\x01", "\x03" };
	struct test_profile runs[COUNT_OF(builds)];
	for (size_t r = 0; r < COUNT_OF(builds); r++) {
		runs[r] = test_profile_new();
		test_event(&runs[r], "cycles", 1000);
		test_image(&runs[r], IMAGE_FILE, "/bin/app", builds[r]);
		test_flat(&runs[r], "work", 100 + r, 1000);
		test_flat(&runs[r], "work.part.0", 50, 1000);
		test_flat(&runs[r], "work.part.1", 25, 1000);
		if (builds[r][0] == 1)
			test_flat(&runs[r], "old", 10, 1000);
	}
	struct made made = make(runs, COUNT_OF(builds), (struct spread_options){ 0 });
	assert_int_equal(made.ret, 0);
	size_t rows = 0;
	for (size_t i = 0; i < made.spread->row_count; i++) {
		const struct spread_row *row = &made.spread->rows[i];
		bool old = strcmp(row->row->texts[REPORT_PROCEDURE], "old") == 0;
		rows++;
		assert_int_equal(row->builds, old ? 1 : 3);
		/* each run's samples are in the row, whichever build they are of */
		for (size_t r = 0; r < COUNT_OF(builds) && !old; r++)
			assert_int_equal(row->cells[r].samples, 175 + r);
	}
	assert_int_equal(rows, 2);
	done(&made);
}

/* Two functions of one name in one build are two rows. */
static void twins_of_one_build_stay_apart(void **state)
{
	(void)state;
	struct test_profile runs[2] = { test_profile_new(), test_profile_new() };
	for (size_t r = 0; r < 2; r++) {
		test_event(&runs[r], "cycles", 1000);
		test_image(&runs[r], IMAGE_FILE, "/bin/app", "\x01");
		test_flat(&runs[r], "work", 100, 1000);
		test_flat(&runs[r], "work.part.0", 50, 1000);
	}
	struct made made = make(runs, 2, (struct spread_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.spread->row_count, 2);
	assert_int_equal(row_of(made.spread, "work")->builds, 1);
	done(&made);
}

static void runs_without_the_event_are_left_out(void **state)
{
	(void)state;
	struct test_profile runs[3] = { test_profile_new(), test_profile_new(),
					test_profile_new() };
	for (size_t r = 0; r < 3; r++) {
		test_event(&runs[r], r == 1 ? "instructions" : "cycles", 1000);
		test_flat(&runs[r], "work", 100, 1000);
	}
	struct made made = make(runs, 3, (struct spread_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct spread_row *work = row_of(made.spread, "work");
	assert_int_equal(work->runs, 2);
	assert_true(isnan(work->values[1]));
	assert_int_equal(made.spread->note_count, 1);
	assert_string_equal(made.spread->notes[0], "run 2 did not count the event: it is left out");
	done(&made);
}

/* What no run has much of is left out though one run cannot say: that run lacks the event, or has
 * no samples at all. */
static void a_run_that_says_nothing_keeps_no_row(void **state)
{
	(void)state;
	for (int idle = 0; idle < 2; idle++) {
		struct test_profile runs[3] = { test_profile_new(), test_profile_new(),
						test_profile_new() };
		for (size_t r = 0; r < 3; r++) {
			test_event(&runs[r], r == 1 && !idle ? "instructions" : "cycles", 1000);
			if (r == 1 && idle)
				continue;
			test_flat(&runs[r], "large", 900, 1000);
			test_flat(&runs[r], "at the bound", 10, 1000);
			test_flat(&runs[r], "small", 9, 1000);
			test_flat(&runs[r], "others", 81, 1000);
		}
		struct made made = make(runs, 3, (struct spread_options){ .min_percent = 1 });
		assert_int_equal(made.ret, 0);
		assert_int_equal(made.spread->row_count, 3);
		row_of(made.spread, "at the bound");
		assert_int_equal(made.spread->rest_count, 1);
		done(&made);
	}
}

/* An idle run of `count`, the others with 100 or more samples of "work" and as many of "rest". */
static struct made make_idle(size_t count, size_t idle, struct spread_options options)
{
	struct test_profile runs[RUNS];
	for (size_t r = 0; r < count; r++) {
		runs[r] = test_profile_new();
		test_event(&runs[r], "cycles", 1000);
		test_source(&runs[r], "web7", 2, UINT64_C(1000000000));
		if (r == idle)
			continue;
		test_flat(&runs[r], "work", 100 + r, 1000);
		test_flat(&runs[r], "rest", 100 + r, 1000);
	}
	return make(runs, count, options);
}

static void an_idle_run_has_no_shares(void **state)
{
	(void)state;
	struct made made = make_idle(
		3, 1, (struct spread_options){ .base_given = true, .base = SPREAD_TOTAL });
	assert_int_equal(made.ret, 0);
	const struct spread *spread = made.spread;
	assert_true(spread->runs[1].counted);
	assert_true(isnan(spread->runs[1].exposure));
	assert_int_equal(spread->note_count, 1);
	assert_string_equal(spread->notes[0],
			    "run 2 has no samples, and so no shares: it is left out");
	const struct spread_row *work = row_of(spread, "work");
	assert_int_equal(work->runs, 2);
	assert_true(isnan(work->values[1]));
	assert_near("same share", work->range_ratio, 0, 1e-12);
	done(&made);
	/* but what it cost is known */
	static const enum spread_base bases[] = { SPREAD_RAW, SPREAD_SECOND };
	for (size_t b = 0; b < COUNT_OF(bases); b++) {
		made = make_idle(3, 1,
				 (struct spread_options){ .base_given = true, .base = bases[b] });
		assert_int_equal(made.ret, 0);
		work = row_of(made.spread, "work");
		assert_int_equal(work->runs, 3);
		assert_near("none", work->values[1], 0, 0);
		assert_int_equal(work->verdict, DIFFERENCE_SIGNIFICANT);
		assert_int_equal(made.spread->note_count, 0);
		done(&made);
	}
	made = make_idle(2, 1, (struct spread_options){ .base_given = true, .base = SPREAD_TOTAL });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "fewer than two runs have samples to take shares of");
	done(&made);
}

/* What was taken as equal was not tested; each row was. */
static void the_total_of_shares_is_not_tested(void **state)
{
	(void)state;
	static const enum spread_base bases[] = { SPREAD_RAW, SPREAD_TOTAL, SPREAD_SECOND };
	for (size_t b = 0; b < COUNT_OF(bases); b++) {
		struct made made = make_idle(
			3, RUNS, (struct spread_options){ .base_given = true, .base = bases[b] });
		assert_int_equal(made.ret, 0);
		const struct spread_row *whole = &made.spread->whole;
		bool total = bases[b] == SPREAD_TOTAL;
		assert_int_equal(isnan(whole->p), total);
		assert_int_equal(isnan(whole->q), total);
		assert_int_equal(whole->tested, !total);
		assert_false(isnan(row_of(made.spread, "work")->p));
		assert_true(row_of(made.spread, "work")->tested);
		done(&made);
	}
}

static void a_rate_needs_durations(void **state)
{
	(void)state;
	struct test_profile runs[2] = { test_profile_new(), test_profile_new() };
	for (size_t r = 0; r < 2; r++) {
		test_event(&runs[r], "cycles", 1000);
		test_flat(&runs[r], "work", 100 * (1 + r), 1000);
		test_source(&runs[r], "web7", 2, (1 + r) * UINT64_C(1000000000));
	}
	struct spread_options options = { .base_given = true, .base = SPREAD_SECOND };
	struct made made = make(runs, 2, options);
	assert_int_equal(made.ret, 0);
	const struct spread_row *work = row_of(made.spread, "work");
	assert_near("range", work->range_ratio, 0, 1e-12);
	assert_near("mean", work->mean, 150000, 1e-6);
	done(&made);
	for (size_t r = 0; r < 2; r++) {
		runs[r] = test_profile_new();
		test_event(&runs[r], "cycles", 1000);
		test_flat(&runs[r], "work", 100, 1000);
	}
	made = make(runs, 2, options);
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text,
			    "no duration is known of run 1, which --per second needs");
	done(&made);
}

static void counts_without_error_have_no_verdict(void **state)
{
	(void)state;
	static const enum difference_counts counts[] = { DIFFERENCE_COUNTS_UNKNOWN,
							 DIFFERENCE_COUNTS_SAMPLES,
							 DIFFERENCE_COUNTS_EXACT };
	static const enum difference_verdict verdicts[] = { DIFFERENCE_NO_ERROR_KNOWN,
							    DIFFERENCE_NOISE,
							    DIFFERENCE_SIGNIFICANT };
	for (size_t c = 0; c < COUNT_OF(counts); c++) {
		struct test_profile runs[2] = { test_profile_new(), test_profile_new() };
		for (size_t r = 0; r < 2; r++) {
			test_event_full(&runs[r],
					&(struct profile_event){ .name = span_of_text("samples"),
								 .origin = ORIGIN_IMPORTED });
			test_flat_cell(&runs[r], "work", &(struct cell){ .estimate = 100 + r });
		}
		struct made made = make(runs, 2, (struct spread_options){ .counts = counts[c] });
		assert_int_equal(made.ret, 0);
		assert_int_equal(row_of(made.spread, "work")->verdict, verdicts[c]);
		done(&made);
	}
}

static void what_is_left_out_is_summed_up(void **state)
{
	(void)state;
	struct test_profile runs[2] = { test_profile_new(), test_profile_new() };
	for (size_t r = 0; r < 2; r++) {
		test_event(&runs[r], "cycles", 1000);
		test_flat(&runs[r], "large", 900, 1000);
		test_flat(&runs[r], "small", 3, 1000);
		test_flat(&runs[r], "tiny", 1 + r, 1000);
	}
	struct made made = make(runs, 2, (struct spread_options){ .min_percent = 1 });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.spread->row_count, 1);
	assert_int_equal(made.spread->rest_count, 2);
	assert_near("rest", made.spread->rest.total, 9000, 0);
	done(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_figure_of_dcpistats),
		cmocka_unit_test(a_planted_culprit_comes_first),
		cmocka_unit_test(equal_runs_have_no_culprit),
		cmocka_unit_test(rows_of_several_builds_are_one),
		cmocka_unit_test(builds_are_counted_and_not_rows),
		cmocka_unit_test(twins_of_one_build_stay_apart),
		cmocka_unit_test(runs_without_the_event_are_left_out),
		cmocka_unit_test(a_run_that_says_nothing_keeps_no_row),
		cmocka_unit_test(an_idle_run_has_no_shares),
		cmocka_unit_test(the_total_of_shares_is_not_tested),
		cmocka_unit_test(a_rate_needs_durations),
		cmocka_unit_test(counts_without_error_have_no_verdict),
		cmocka_unit_test(what_is_left_out_is_summed_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
