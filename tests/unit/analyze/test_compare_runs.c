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

#include "analyze/compare/compare.h"
#include "analyze/names/resolve.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/runs.h"
#include "support/normal.h"
#include "support/poisson.h"
#include "support/test_profile.h"

#define ROWS	  25
#define RUNS_MOST 5

static void assert_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance))
		fail_msg("%s is %.10g, not %.10g", what, value, wanted);
}

struct made {
	struct profile *profiles[2];
	struct resolver *resolvers[2];
	struct comparison *comparison;
	struct error err;
	int ret;
};

/* Takes the runs' profiles. */
static struct made make(struct test_profile runs[2][RUNS_MOST], const size_t counts[2],
			struct compare_options options)
{
	struct made made = { 0 };
	struct compare_side sides[2] = { 0 };
	const struct resolver_options naming = { .stash_only = true };
	for (size_t s = 0; s < 2; s++) {
		made.profiles[s] = profile_new();
		for (size_t r = 0; r < counts[s]; r++) {
			struct profile *run = runs[s][r].profile;
			assert_int_equal(profile_mark_run(run, r + 1, &made.err), 0);
			assert_int_equal(profile_merge(made.profiles[s], run, &made.err), 0);
			profile_free(run);
		}
		assert_int_equal(
			resolver_new(made.profiles[s], &naming, &made.resolvers[s], &made.err), 0);
		sides[s] = (struct compare_side){ made.profiles[s], made.resolvers[s], NULL,
						  counts[s] };
	}
	options.report.parts[options.report.part_count++] = REPORT_PROCEDURE;
	if (options.fail_above_percent == 0)
		options.fail_above_percent = -1;
	made.ret = compare_new(&sides[0], &sides[1], &options, &made.comparison, &made.err);
	return made;
}

static void done(struct made *made)
{
	compare_free(made->comparison);
	for (size_t s = 0; s < 2; s++) {
		resolver_free(made->resolvers[s]);
		profile_free(made->profiles[s]);
	}
}

static const struct compared_row *row_of(const struct comparison *comparison, const char *name)
{
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct compared_row *row = &comparison->rows[i];
		const struct report_row *shown = row->after ? row->after : row->before;
		if (strcmp(shown->texts[REPORT_PROCEDURE], name) == 0)
			return row;
	}
	fail_msg("no row '%s'", name);
	return NULL;
}

static void add_run(struct test_profile *run, const char *const *names, const uint64_t *samples,
		    size_t count)
{
	*run = test_profile_new();
	test_event(run, "cycles", 1000);
	for (size_t i = 0; i < count; i++)
		test_flat(run, names[i], samples[i], 1000);
}

/* ---- the base */

/* The work of a run: two runs of one thing are not twice the work. */
static void figures_are_those_of_a_run(void **state)
{
	(void)state;
	static const char *const names[] = { "work", "rest" };
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 2, 3 };
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < counts[s]; r++)
			add_run(&runs[s][r], names, (uint64_t[]){ 100, 900 }, 2);
	struct made made = make(runs, counts, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct difference *change = &row_of(made.comparison, "work")->changes[0];
	assert_int_equal(change->before.samples, 200);
	assert_int_equal(change->after.samples, 300);
	assert_near("scaled", change->before_scaled, 300000, 1e-6);
	assert_near("change", change->change.value, 0, 1e-6);
	assert_int_equal(change->verdict, DIFFERENCE_NOISE);
	done(&made);
}

static void what_runs_scatter_is_in_interval_and_verdict(void **state)
{
	(void)state;
	static const char *const names[] = { "noisy", "steady" };
	static const uint64_t samples[2][3][2] = {
		{ { 9000, 10000 }, { 10000, 10050 }, { 11000, 9950 } },
		{ { 11400, 11900 }, { 12100, 12000 }, { 10300, 12100 } },
	};
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 3, 3 };
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < 3; r++)
			add_run(&runs[s][r], names, samples[s][r], 2);
	struct made made = make(runs, counts, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct compared_row *noisy = row_of(made.comparison, "noisy");
	const struct compared_row *steady = row_of(made.comparison, "steady");
	assert_int_equal(noisy->changes[0].verdict, DIFFERENCE_NOISE);
	assert_int_equal(steady->changes[0].verdict, DIFFERENCE_SIGNIFICANT);
	assert_near("degrees", noisy->noises[0].degrees, 4, 0);
	assert_near("never below counting", steady->noises[0].factor, 1, 1e-12);
	/* of the six counts by hand: variances 1,000,000 and 823,333; t of 4 degrees 2.776 */
	double reach = 2.7764451 * sqrt(911667.0 * 2 / 3) * 3000;
	assert_near("reach", noisy->changes[0].change.high - noisy->changes[0].change.value, reach,
		    0.01 * reach);
	done(&made);
}

static void every_base_has_its_exposures(void **state)
{
	(void)state;
	static const char *const names[] = { "work", "fixed" };
	static const char *const bases[] = { "second", "total", "requests", "fixed" };
	for (size_t b = 0; b < COUNT_OF(bases); b++) {
		struct test_profile runs[2][RUNS_MOST];
		const size_t counts[2] = { 2, 2 };
		for (size_t s = 0; s < 2; s++)
			for (size_t r = 0; r < 2; r++) {
				uint64_t size = 1 + r; /* the second run did twice as much */
				add_run(&runs[s][r], names,
					(uint64_t[]){ 5000 * size, 1000 * size }, 2);
				test_source(&runs[s][r], "web7", 2, size * 1000000000);
				const struct profile_event work = {
					.name = span_of_text("requests"), .origin = ORIGIN_IMPORTED
				};
				uint32_t id;
				assert_int_equal(profile_add_event(runs[s][r].profile, &work, &id),
						 0);
				struct cell cell = { .estimate = 700 * size };
				assert_int_equal(
					profile_add_counter(runs[s][r].profile, id, 0, &cell), 0);
			}
		struct made made = make(runs, counts, (struct compare_options){ .per = bases[b] });
		if (made.ret < 0)
			fail_msg("%s: %s", bases[b], made.err.text);
		const struct compared_row *row = row_of(made.comparison, "work");
		assert_near(bases[b], row->noises[0].factor, 1, 1e-9);
		done(&made);
	}
}

static void a_run_without_what_the_base_needs_is_named(void **state)
{
	(void)state;
	static const char *const names[] = { "work", "fixed" };
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 1, 2 };
	add_run(&runs[0][0], names, (uint64_t[]){ 100, 10 }, 2);
	add_run(&runs[1][0], names, (uint64_t[]){ 100, 10 }, 2);
	add_run(&runs[1][1], names, (uint64_t[]){ 100 }, 1);
	struct made made = make(runs, counts, (struct compare_options){ .per = "fixed" });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "run 2 of the after side has no fixed");
	done(&made);
}

/* ---- runs that lack an event */

/* Runs of the same work, 10,000 cycles' samples and as many of instructions, one second each; the
 * second run of the after side counted one of them alone. */
static struct made make_without(const char *missing, struct compare_options options)
{
	static const char *const events[] = { "cycles", "instructions" };
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 2, 3 };
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < counts[s]; r++) {
			struct test_profile *run = &runs[s][r];
			*run = test_profile_new();
			for (size_t e = 0; e < COUNT_OF(events); e++) {
				if (s == 1 && r == 1 && strcmp(missing, events[e]) == 0)
					continue;
				test_event(run, events[e], 1000);
				test_flat(run, "work", 9000, 1000);
				test_flat(run, "fixed", 1000, 1000);
			}
			test_source(run, "web7", 2, UINT64_C(1000000000));
			const struct profile_event requests = { .name = span_of_text("requests"),
								.origin = ORIGIN_IMPORTED };
			uint32_t id;
			const struct cell cell = { .estimate = 700 };
			assert_int_equal(profile_add_event(run->profile, &requests, &id), 0);
			assert_int_equal(profile_add_counter(run->profile, id, 0, &cell), 0);
		}
	return make(runs, counts, options);
}

static bool is_noted(const struct comparison *comparison, const char *text)
{
	for (size_t i = 0; i < comparison->note_count; i++)
		if (strcmp(comparison->notes[i], text) == 0)
			return true;
	return false;
}

/* What was not counted is not 0: no event changed, by whatever they are compared. */
static void an_event_is_compared_of_the_runs_that_counted_it(void **state)
{
	(void)state;
	static const char *const bases[] = { "raw", "second", "total", "requests", "fixed" };
	for (size_t b = 0; b < COUNT_OF(bases); b++) {
		struct made made =
			make_without("instructions", (struct compare_options){ .per = bases[b] });
		if (made.ret < 0)
			fail_msg("%s: %s", bases[b], made.err.text);
		const struct comparison *comparison = made.comparison;
		assert_int_equal(comparison->column_count, 2);
		const struct compared_row *row = row_of(comparison, "work");
		for (size_t c = 0; c < 2; c++) {
			const struct compared_column *column = &comparison->columns[c];
			assert_int_equal(column->runs[0], 2);
			assert_int_equal(column->runs[1], c ? 2 : 3);
			assert_near(bases[b], row->changes[c].change.value, 0, 1e-6);
			assert_int_equal(row->changes[c].verdict, DIFFERENCE_NOISE);
			assert_near("total", column->whole.change.value, 0, 1e-6);
			assert_near("noise", row->noises[c].factor, 1, 1e-9);
			/* too few rows say what is usual: runs less sides */
			assert_near("degrees", row->noises[c].degrees, c ? 2 : 3, 0);
		}
		assert_true(is_noted(comparison,
				     "run 2 of the after side did not count "
				     "instructions: its figures are of the other runs"));
		/* cycles of three runs over instructions of two are no CPI */
		assert_int_equal(comparison->pair_count, 0);
		done(&made);
	}
	/* the control: of runs that all counted both nothing is said, and there is a CPI */
	struct made made = make_without("", (struct compare_options){ .per = "raw" });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->columns[1].runs[1], 3);
	assert_int_equal(made.comparison->pair_count, 1);
	for (size_t i = 0; i < made.comparison->note_count; i++)
		assert_null(strstr(made.comparison->notes[i], "did not count"));
	done(&made);
}

/* The procedure's cost is that of the table's event, which every run needs then. */
static void a_run_without_the_event_of_the_base_is_refused(void **state)
{
	(void)state;
	struct made made = make_without("cycles", (struct compare_options){ .per = "fixed" });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "run 2 of the after side did not count cycles, which "
					   "--per fixed needs");
	done(&made);
}

/* Events of one run that another lacks stand at other places, and are no reason to take the cost of
 * another event. */
static void a_procedures_cost_is_of_the_event_that_is_compared(void **state)
{
	(void)state;
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 2, 2 };
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < 2; r++) {
			struct test_profile *run = &runs[s][r];
			*run = test_profile_new();
			if (s == 0 && r == 0) { /* nobody else has it: it is not compared */
				test_event(run, "cycles", 1000);
				test_flat(run, "fixed", 5, 1000);
			}
			test_event(run, "instructions", 1000);
			test_flat(run, "work", 5000, 1000);
			test_flat(run, "fixed", 1000, 1000);
			if (s == 0 && r == 1) {
				test_event(run, "loads", 1000);
				test_flat(run, "fixed", 20000, 1000);
			}
		}
	struct made made = make(runs, counts, (struct compare_options){ .per = "fixed" });
	if (made.ret < 0)
		fail_msg("%s", made.err.text);
	const struct comparison *comparison = made.comparison;
	assert_int_equal(comparison->column_count, 1);
	assert_near("factor", comparison->columns[0].event.scale.factor, 1, 1e-12);
	for (size_t s = 0; s < 2; s++)
		assert_near("exposures", comparison->exposures[s][1], comparison->exposures[s][0],
			    0);
	assert_near("alike", row_of(comparison, "work")->noises[0].factor, 1, 1e-9);
	done(&made);
}

/* Counts with decimals on one side are the same counts. */
static void work_has_the_decimals_of_its_row(void **state)
{
	(void)state;
	static const char *const bases[] = { "fixed", "cycles", "requests" };
	for (size_t b = 0; b < 2 * COUNT_OF(bases); b++) {
		size_t each = 1 + b % 2;
		struct test_profile runs[2][RUNS_MOST];
		const size_t counts[2] = { each, each };
		for (size_t s = 0; s < 2; s++)
			for (size_t r = 0; r < each; r++) {
				uint64_t weight = s ? 1 : 1000;
				runs[s][r] = test_profile_new();
				test_event_full(&runs[s][r], &(struct profile_event){
								     .name = span_of_text("cycles"),
								     .scale = s ? 0 : 3,
								     .sampled = 1,
								     .period = 1 });
				test_flat(&runs[s][r], "work", 5000, weight);
				test_flat(&runs[s][r], "fixed", 1000, weight);
				const struct profile_event requests = { .name = span_of_text(
										"requests"),
									.scale = s ? 2 : 0,
									.origin = ORIGIN_IMPORTED };
				const struct cell cell = { .estimate = s ? 70000 : 700 };
				uint32_t id;
				assert_int_equal(
					profile_add_event(runs[s][r].profile, &requests, &id), 0);
				assert_int_equal(
					profile_add_counter(runs[s][r].profile, id, 0, &cell), 0);
			}
		struct made made =
			make(runs, counts, (struct compare_options){ .per = bases[b / 2] });
		if (made.ret < 0)
			fail_msg("%s: %s", bases[b / 2], made.err.text);
		assert_near("factor", made.comparison->columns[0].event.scale.factor, 1, 1e-12);
		assert_near("change", row_of(made.comparison, "work")->changes[0].change.value, 0,
			    1e-6);
		done(&made);
	}
}

/* ---- rows and totals */

/* Runs of a program that was built anew between those of a side, and with the other side has a
 * build in common. */
static struct made make_rebuilt(const char *per)
{
	static const char *const builds[2][3] = { { "\x01", "\x02", "\x01" },
						  { "\x03", "\x03", "\x02" } };
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 3, 3 };
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < 3; r++) {
			runs[s][r] = test_profile_new();
			test_event(&runs[s][r], "cycles", 1000);
			test_image(&runs[s][r], IMAGE_FILE, "/bin/app", builds[s][r]);
			test_flat(&runs[s][r], "work", 10000 + 10 * r, 1000);
			test_flat(&runs[s][r], "other", 1000, 1000);
			if (s == 0)
				test_flat(&runs[s][r], "gone", 1000, 1000);
			test_image(&runs[s][r], IMAGE_FILE, "/bin/steady", "\x07");
			test_flat(&runs[s][r], "work", 500, 1000);
		}
	return make(runs, counts, (struct compare_options){ .per = per });
}

/* Its procedures are one row, and what a run has in either build is the run's. */
static void a_row_of_several_builds_scatters_as_one(void **state)
{
	(void)state;
	struct made made = make_rebuilt("raw");
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->row_count, 4);
	/* what the other side lacks is one row, too */
	const struct compared_row *gone = row_of(made.comparison, "gone");
	assert_int_equal(gone->match, MATCH_NONE);
	assert_int_equal(gone->before_count, 2);
	assert_int_equal(gone->after_count, 0);
	assert_near("gone", gone->noises[0].factor, 1, 0);
	assert_int_equal(gone->changes[0].verdict, DIFFERENCE_SIGNIFICANT);
	/* an image of one build goes by it, though its procedure has the same name */
	size_t same_build = 0;
	for (size_t i = 0; i < made.comparison->row_count; i++)
		same_build += made.comparison->rows[i].match == MATCH_SAME_BUILD;
	assert_int_equal(same_build, 1);
	const struct compared_row *work = row_of(made.comparison, "work");
	assert_int_equal(work->before_count, 2);
	assert_int_equal(work->after_count, 2);
	assert_int_equal(work->changes[0].before.samples, 30030);
	assert_int_equal(work->changes[0].after.samples, 30030);
	assert_near("change", work->changes[0].change.value, 0, 1e-6);
	/* apart, each build's row would have runs of 10,000 and of 0 */
	assert_near("factor", work->noises[0].factor, 1, 0);
	assert_near("degrees", work->noises[0].degrees, 4, 0);
	done(&made);
}

/* One of them is one procedure to compare by, and two of that name in two programs are not. */
static void a_procedure_of_several_builds_is_what_runs_have_alike(void **state)
{
	(void)state;
	struct made made = make_rebuilt("other");
	if (made.ret < 0)
		fail_msg("%s", made.err.text);
	assert_near("factor", made.comparison->columns[0].event.scale.factor, 1, 1e-12);
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < 3; r++)
			assert_near("cost", made.comparison->exposures[s][r], 1000000, 0);
	done(&made);
	made = make_rebuilt("work");
	assert_int_equal(made.ret, -EINVAL);
	assert_non_null(strstr(made.err.text, "'work' names more than one procedure"));
	done(&made);
}

/* The total's noise is its own runs', whatever is usual for rows; shares of it have none. */
static void the_total_has_the_noise_of_its_runs(void **state)
{
	(void)state;
	static const uint64_t all[2][3] = { { 9000, 10000, 11000 }, { 11400, 12100, 10300 } };
	struct test_profile runs[2][RUNS_MOST];
	const size_t counts[2] = { 3, 3 };
	for (int total = 0; total < 2; total++) {
		for (size_t s = 0; s < 2; s++)
			for (size_t r = 0; r < 3; r++) {
				/* ten rows that scatter as their total does, by each one */
				runs[s][r] = test_profile_new();
				test_event(&runs[s][r], "cycles", 1000);
				for (size_t i = 0; i < 10; i++) {
					char name[8];
					snprintf(name, sizeof(name), "p%zu", i);
					test_flat(&runs[s][r], name, all[s][r] / 10, 1000);
				}
			}
		struct made made = make(runs, counts,
					(struct compare_options){ .per = total ? "total" : "raw" });
		assert_int_equal(made.ret, 0);
		const struct compared_column *column = &made.comparison->columns[0];
		/* X^2 by hand: 2,000,000 / 10,000, and 1,646,667 / 11,266.67 */
		double own = (200 + 1646666.667 / 11266.6667) / 4;
		assert_near("factor", column->whole_noise.factor, total ? 1 : own, 1e-3);
		if (total)
			assert_true(isinf(column->whole_noise.degrees));
		else
			assert_near("degrees", column->whole_noise.degrees, 4, 0);
		assert_int_equal(column->whole.verdict, DIFFERENCE_NOISE);
		assert_false(isnan(column->usual_noise));
		done(&made);
	}
}

/* ---- simulated */

/* Rows from 5 to 50,000 samples; runs differ by `common` together and each row by `own`. */
static struct made draw(struct random_state *random, size_t each, double common, double own,
			double changed, const char *per)
{
	struct test_profile runs[2][RUNS_MOST];
	for (size_t s = 0; s < 2; s++)
		for (size_t r = 0; r < each; r++) {
			double speed = exp(common * normal(random));
			runs[s][r] = test_profile_new();
			test_event(&runs[s][r], "cycles", 1000);
			for (size_t i = 0; i < ROWS; i++) {
				char name[16];
				double mean = 5 * pow(10, (double)i * 4 / (ROWS - 1)) * speed *
					      exp(own * normal(random));
				if (s == 1 && i == 23)
					mean *= changed;
				snprintf(name, sizeof(name), "p%zu", i);
				/* of many the normal distribution, which is drawn faster */
				test_flat(&runs[s][r], name,
					  mean < 100
						  ? poisson(random, mean)
						  : (uint64_t)(mean + sqrt(mean) * normal(random)),
					  1000);
			}
		}
	const size_t counts[2] = { each, each };
	return make(runs, counts, (struct compare_options){ .per = per });
}

static void three_equal_runs_against_three_are_equal(void **state)
{
	(void)state;
	static const struct {
		const char *name, *per;
		double common, own;
	} worlds[] = {
		{ "counting alone", "raw", 0, 0 },
		{ "each row by 2 %", "raw", 0, 0.02 },
		{ "all rows by 3 %, each by 1 %", "raw", 0.03, 0.01 },
		{ "loads by 30 %, shares", "total", 0.3, 0 },
		{ "loads by 30 %, each row by 2 %, shares", "total", 0.3, 0.02 },
	};
	for (size_t w = 0; w < COUNT_OF(worlds); w++) {
		struct random_state random = random_seed(21);
		unsigned rows = 0, sets = 0;
		for (int set = 0; set < 200; set++) {
			struct made made =
				draw(&random, 3, worlds[w].common, worlds[w].own, 1, worlds[w].per);
			assert_int_equal(made.ret, 0);
			rows += (unsigned)made.comparison->significant;
			sets += made.comparison->significant > 0;
			done(&made);
		}
		printf("%-42s %.2f %% of rows, %.1f %% of sets\n", worlds[w].name,
		       rows / 2.0 / ROWS, sets / 2.0);
		if (rows > 0.02 * 200 * ROWS || sets > 20)
			fail_msg("%s: %u rows, %u of 200 sets", worlds[w].name, rows, sets);
	}
}

static void three_percent_are_found_where_the_noise_permits(void **state)
{
	(void)state;
	struct random_state random = random_seed(22);
	unsigned found = 0;
	for (int set = 0; set < 100; set++) {
		struct made made = draw(&random, 5, 0, 0.004, 1.03, "raw");
		assert_int_equal(made.ret, 0);
		found += row_of(made.comparison, "p23")->changes[0].verdict ==
			 DIFFERENCE_SIGNIFICANT;
		done(&made);
	}
	printf("3 %% found in %u of 100 sets of five against five\n", found);
	if (found < 80)
		fail_msg("3 %% found in %u of 100 sets", found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_a_run),
		cmocka_unit_test(what_runs_scatter_is_in_interval_and_verdict),
		cmocka_unit_test(every_base_has_its_exposures),
		cmocka_unit_test(a_run_without_what_the_base_needs_is_named),
		cmocka_unit_test(an_event_is_compared_of_the_runs_that_counted_it),
		cmocka_unit_test(a_run_without_the_event_of_the_base_is_refused),
		cmocka_unit_test(a_procedures_cost_is_of_the_event_that_is_compared),
		cmocka_unit_test(work_has_the_decimals_of_its_row),
		cmocka_unit_test(a_row_of_several_builds_scatters_as_one),
		cmocka_unit_test(a_procedure_of_several_builds_is_what_runs_have_alike),
		cmocka_unit_test(the_total_has_the_noise_of_its_runs),
		cmocka_unit_test(three_equal_runs_against_three_are_equal),
		cmocka_unit_test(three_percent_are_found_where_the_noise_permits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
