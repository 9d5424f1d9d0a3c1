/*
 * What comparisons of runs claim, held against experiments whose truth is known: an event of two
 * commands that are the same but for `effect`, in rounds of random order. Runs come from
 * distributions, and from measured series (tests/data/run-spread), of which an experiment takes as
 * many neighbours as it has runs, with all that makes them hang together.
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/student_t.h"
#include "analyze/runs/run_comparison.h"
#include "analyze/runs/run_order.h"
#include "base/count_of.h"
#include "base/random.h"
#include "support/long_form.h"
#include "support/normal.h"

/* A rate of 5 % is off by 0.7 with 1,000, and by 0.5 with twice as many. */
#define EXPERIMENTS (LONG_FORM ? 2000 : 1000)
#define ROUNDED	    1e-12 /* what logarithms of equal ratios differ by */
#define ROUNDS_MOST 40
#define SERIES_MOST 512

/* ---- runs */

enum kind { NORMAL, HEAVY, DRIFT, SPIKES, MEASURED };

struct spread {
	const char *name;
	enum kind kind;
	int column;  /* of the file: wall time, CPU time, page faults */
	bool coarse; /* few distinct values, many of them equal */
};

static const struct spread spreads[] = {
	{ "normal", NORMAL, 0, false },	  { "heavy tails", HEAVY, 0, false },
	{ "drift", DRIFT, 0, false },	  { "spikes", SPIKES, 0, false },
	{ "cc", MEASURED, 0, false },	  { "gzip", MEASURED, 0, false },
	{ "python", MEASURED, 0, false }, { "sort", MEASURED, 0, false },
	{ "cc", MEASURED, 1, false },	  { "gzip", MEASURED, 1, false },
	{ "cc", MEASURED, 2, true },	  { "gzip", MEASURED, 2, true },
	{ "python", MEASURED, 2, true },  { "sort", MEASURED, 2, true },
};

/* The runs of a file; those of one session are neighbours. */
struct series {
	double values[SERIES_MOST];
	size_t session[SERIES_MOST];
	size_t count;
};

static void read_series(const struct spread *spread, struct series *series)
{
	char path[512], line[128];
	snprintf(path, sizeof(path), CULPRIT_SOURCE "/tests/data/run-spread/%s.txt", spread->name);
	FILE *file = fopen(path, "r");
	if (!file)
		fail_msg("cannot open %s", path);
	series->count = 0;
	for (size_t session = 0; fgets(line, sizeof(line), file);) {
		double columns[3];
		if (line[0] == '#') {
			session++;
		} else {
			assert_int_equal(
				sscanf(line, "%lf %lf %lf", &columns[0], &columns[1], &columns[2]),
				3);
			assert_true(series->count < SERIES_MOST);
			series->session[series->count] = session;
			series->values[series->count++] = columns[spread->column];
		}
	}
	fclose(file);
	assert_true(series->count > 4 * ROUNDS_MOST);
}

/* What `count` runs of one program take, one after the other. */
static void draw_runs(struct random_state *random, const struct spread *spread,
		      const struct series *series, size_t count, double *runs)
{
	if (spread->kind == MEASURED) {
		size_t at;
		do
			at = random_below(random, series->count - count + 1);
		while (series->session[at] != series->session[at + count - 1]);
		memcpy(runs, &series->values[at], count * sizeof(*runs));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		double noise = 0.01 * normal(random);
		if (spread->kind == HEAVY) /* Cauchy's distribution up to 20 */
			noise = fmax(-3, fmin(3, 0.005 * tan(M_PI * (random_unit(random) - 0.5))));
		if (spread->kind == DRIFT)
			noise += 0.01 * (double)i;
		if (spread->kind == SPIKES && random_unit(random) < 0.1)
			noise += 0.3 * random_unit(random);
		runs[i] = 1e6 * exp(noise);
	}
}

/* ---- experiments */

/* How the runs are ordered and what judges them. */
enum method {
	AS_WE_DO,
	FIXED_ORDER,   /* the first command always in front */
	T_OF_UNPAIRED, /* first all runs of the one, then all of the other; Welch's t test */
	ALWAYS_SAME,   /* finds nothing */
};

struct outcome {
	int found;    /* -1: less, 1: more */
	double power; /* promised for `effect` */
	double detectable;
	bool holds; /* the interval holds the truth */
};

static int welch(const double *values, size_t rounds)
{
	double mean[2] = { 0 }, squares[2] = { 0 }, n = (double)rounds;
	for (size_t i = 0; i < 2 * rounds; i++)
		mean[i % 2] += log(values[i]) / n;
	for (size_t i = 0; i < 2 * rounds; i++)
		squares[i % 2] += pow(log(values[i]) - mean[i % 2], 2);
	double variance = (squares[0] + squares[1]) / (n * (n - 1));
	double t = (mean[1] - mean[0]) / sqrt(variance);
	if (student_t_upper(fabs(t), 2 * n - 2) > 0.025)
		return 0;
	return t > 0 ? 1 : -1;
}

static struct outcome experiment(struct random_state *random, const struct spread *spread,
				 const struct series *series, size_t rounds, double effect,
				 enum method method)
{
	double runs[2 * ROUNDS_MOST], values[2 * ROUNDS_MOST];
	draw_runs(random, spread, series, 2 * rounds, runs);
	for (size_t i = 0; i < rounds; i++) {
		size_t order[2] = { 0, 1 };
		if (method == AS_WE_DO)
			run_order_draw(random, 2, order);
		values[2 * i + order[0]] = runs[method == T_OF_UNPAIRED ? i : 2 * i];
		values[2 * i + order[1]] = runs[method == T_OF_UNPAIRED ? rounds + i : 2 * i + 1];
		values[2 * i + 1] *= 1 + effect;
	}
	struct run_values all = { values, rounds, 2 };
	struct run_comparison c;
	assert_int_equal(run_compare(&all, 0, 1, &c, NULL), 0);
	struct outcome outcome = { .power = run_power(&c, effect),
				   .detectable = c.detectable,
				   .holds = c.change.low <= effect + ROUNDED &&
					    c.change.high >= effect - ROUNDED };
	if (method == T_OF_UNPAIRED)
		outcome.found = welch(values, rounds);
	else if (method != ALWAYS_SAME)
		outcome.found = (c.verdict == RUN_MORE) - (c.verdict == RUN_LESS);
	return outcome;
}

/* Shares of many experiments. */
struct rates {
	double more, different, holds, power;
	double detectable; /* the mean of its logarithm, as a change */
};

static struct rates rates_of(uint64_t seed, const struct spread *spread, size_t rounds,
			     double effect, enum method method)
{
	static struct series series;
	struct random_state random = random_seed(seed);
	struct rates rates = { 0 };
	if (spread->kind == MEASURED)
		read_series(spread, &series);
	for (int i = 0; i < EXPERIMENTS; i++) {
		struct outcome outcome =
			experiment(&random, spread, &series, rounds, effect, method);
		rates.more += outcome.found > 0;
		rates.different += outcome.found != 0;
		rates.holds += outcome.holds;
		rates.power += outcome.power;
		rates.detectable += log1p(outcome.detectable);
	}
	rates.more /= EXPERIMENTS;
	rates.different /= EXPERIMENTS;
	rates.holds /= EXPERIMENTS;
	rates.power /= EXPERIMENTS;
	rates.detectable = expm1(rates.detectable / EXPERIMENTS);
	return rates;
}

static void assert_within(const struct spread *spread, size_t rounds, const char *what,
			  double value, double low, double high)
{
	if (!(value >= low && value <= high))
		fail_msg("%s, column %d, %zu rounds: %s %.3f, not from %.3f to %.3f", spread->name,
			 spread->column, rounds, what, value, low, high);
}

/* ---- claims */

static const size_t sizes[] = { 10, 20 };

/* 5 % of the experiments, however runs scatter; in six rounds the level is 96.9 %. Where values are
 * equal the verdict is on the safe side. */
static void the_same_program_is_called_different_in_3_to_7_percent(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		for (size_t i = 0; i < COUNT_OF(sizes); i++) {
			struct rates rates = rates_of(100 + s, &spreads[s], sizes[i], 0, AS_WE_DO);
			assert_within(&spreads[s], sizes[i], "false alarms", rates.different,
				      spreads[s].coarse ? 0 : 0.03, 0.07);
		}
		struct rates few = rates_of(200 + s, &spreads[s], 6, 0, AS_WE_DO);
		assert_within(&spreads[s], 6, "false alarms", few.different,
			      spreads[s].coarse ? 0 : 0.02, 0.045);
	}
}

static void the_interval_holds_the_truth(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		struct rates rates = rates_of(300 + s, &spreads[s], 10, 0.01, AS_WE_DO);
		assert_within(&spreads[s], 10, "intervals that hold 1 %", rates.holds, 0.93, 1);
	}
}

/* The mean of what single experiments promise is what they find: within 0.04 of 20 rounds. Ten
 * promise less than they find where outliers widen the interval, and a little more where nothing
 * does. */
static void one_percent_is_found_as_often_as_promised(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		struct rates ten = rates_of(400 + s, &spreads[s], 10, 0.01, AS_WE_DO);
		assert_within(&spreads[s], 10, "found less promised", ten.more - ten.power, -0.07,
			      0.13);
		struct rates twenty = rates_of(500 + s, &spreads[s], 20, 0.01, AS_WE_DO);
		assert_within(&spreads[s], 20, "found less promised", twenty.more - twenty.power,
			      -0.04, 0.1);
	}
	/* so that something is found at all */
	struct rates normal_runs = rates_of(600, &spreads[0], 20, 0.01, AS_WE_DO);
	assert_within(&spreads[0], 20, "found", normal_runs.more, 0.78, 0.9);
}

/* The detectable change, in the middle of those that experiments name, is found by 80 of 100. */
static void the_detectable_change_is_found_by_80_of_100(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		if (spreads[s].coarse)
			continue;
		struct rates named = rates_of(700 + s, &spreads[s], 20, 0, AS_WE_DO);
		struct rates found = rates_of(800 + s, &spreads[s], 20, named.detectable, AS_WE_DO);
		assert_within(&spreads[s], 20, "found", found.more, 0.73, 0.87);
	}
}

/* Taken at its word, experiment by experiment, it is found by fewer: it comes from an interval
 * whose length is chance, too, and that is short as often as long. */
static void a_single_promise_is_kept_less_often(void **state)
{
	(void)state;
	static struct series series;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		if (spreads[s].coarse)
			continue;
		if (spreads[s].kind == MEASURED)
			read_series(&spreads[s], &series);
		struct random_state random = random_seed(850 + s);
		double found = 0;
		for (int i = 0; i < EXPERIMENTS; i++) {
			double named = experiment(&random, &spreads[s], &series, 20, 0, AS_WE_DO)
					       .detectable;
			found += experiment(&random, &spreads[s], &series, 20, named, AS_WE_DO)
					 .found > 0;
		}
		assert_within(&spreads[s], 20, "found", found / EXPERIMENTS, 0.62, 0.82);
	}
}

/* ---- many commands, many events */

#define COMMANDS 5
#define EVENTS	 12
#define CHANGED	 3 /* events that the second command has 3 % more of; the rest are the same */

/* Five times the same program, four of them against the first: something is found in 5 % of the
 * experiments, though each by itself would be found in 5 %. */
static void five_times_the_same_gives_one_false_alarm_in_twenty(void **state)
{
	(void)state;
	struct random_state random = random_seed(1000);
	double alone = 0, together = 0;
	for (int i = 0; i < EXPERIMENTS; i++) {
		double runs[COMMANDS * 12], values[COMMANDS * 12];
		draw_runs(&random, &spreads[2], NULL, COUNT_OF(runs), runs); /* drift */
		for (size_t round = 0; round < 12; round++) {
			size_t order[COMMANDS];
			run_order_draw(&random, COMMANDS, order);
			for (size_t j = 0; j < COMMANDS; j++)
				values[round * COMMANDS + order[j]] = runs[round * COMMANDS + j];
		}
		struct run_values all = { values, 12, COMMANDS };
		struct run_comparison list[COMMANDS - 1];
		for (size_t j = 1; j < COMMANDS; j++)
			assert_int_equal(run_compare(&all, 0, j, &list[j - 1], NULL), 0);
		bool any[2] = { false, false };
		for (size_t j = 0; j < COMMANDS - 1; j++)
			any[0] |= list[j].verdict >= RUN_LESS;
		assert_int_equal(run_comparisons_judge(list, COMMANDS - 1, NULL), 0);
		for (size_t j = 0; j < COMMANDS - 1; j++)
			any[1] |= list[j].verdict >= RUN_LESS;
		alone += any[0];
		together += any[1];
	}
	assert_within(&spreads[2], 12, "one by one", alone / EXPERIMENTS, 0.1, 0.2);
	assert_within(&spreads[2], 12, "together", together / EXPERIMENTS, 0.015, 0.065);
}

/* Of what is found among many events 5 % at most is chance; judged alone it is more. */
static void of_what_is_found_among_events_little_is_chance(void **state)
{
	(void)state;
	struct random_state random = random_seed(1100);
	double alone = 0, together = 0, found = 0;
	for (int i = 0; i < EXPERIMENTS; i++) {
		struct run_comparison list[EVENTS];
		for (size_t event = 0; event < EVENTS; event++) {
			double values[2 * 20];
			draw_runs(&random, &spreads[0], NULL, COUNT_OF(values), values);
			for (size_t round = 0; event < CHANGED && round < 20; round++)
				values[2 * round + 1] *= 1.03;
			struct run_values all = { values, 20, 2 };
			assert_int_equal(run_compare(&all, 0, 1, &list[event], NULL), 0);
		}
		double right = 0, wrong[2] = { 0 };
		for (size_t event = CHANGED; event < EVENTS; event++)
			wrong[0] += list[event].verdict >= RUN_LESS;
		assert_int_equal(run_comparisons_judge(list, EVENTS, NULL), 0);
		for (size_t event = 0; event < EVENTS; event++)
			*(event < CHANGED ? &right : &wrong[1]) += list[event].verdict >= RUN_LESS;
		alone += wrong[0] > 0 ? wrong[0] / (wrong[0] + CHANGED) : 0;
		together += wrong[1] > 0 ? wrong[1] / (wrong[1] + right) : 0;
		found += right / CHANGED;
	}
	assert_within(&spreads[0], 20, "chance, one by one", alone / EXPERIMENTS, 0.08, 0.2);
	assert_within(&spreads[0], 20, "chance, together", together / EXPERIMENTS, 0.015, 0.05);
	assert_within(&spreads[0], 20, "changed ones found", found / EXPERIMENTS, 0.98, 1);
}

/* ---- controls: what must not pass */

/* Where runs hang together a test of unpaired runs finds what is not there. */
static void a_t_test_of_unpaired_runs_fails(void **state)
{
	(void)state;
	size_t failed = 0;
	for (size_t s = 0; s < COUNT_OF(spreads); s++) {
		struct rates rates = rates_of(900 + s, &spreads[s], 20, 0, T_OF_UNPAIRED);
		bool hangs = spreads[s].kind == DRIFT ||
			     (spreads[s].kind == MEASURED && !spreads[s].coarse);
		if (hangs)
			assert_within(&spreads[s], 20, "false alarms", rates.different, 0.2, 1);
		failed += rates.different > 0.07;
	}
	/* and it does as well as any where they do not */
	struct rates rates = rates_of(950, &spreads[0], 20, 0, T_OF_UNPAIRED);
	assert_within(&spreads[0], 20, "false alarms", rates.different, 0.03, 0.07);
	assert_true(failed >= 7);
}

/* Whoever is always second is slower under drift, whatever he runs. */
static void a_fixed_order_fails_under_drift(void **state)
{
	(void)state;
	struct rates rates = rates_of(960, &spreads[2], 20, 0, FIXED_ORDER);
	assert_within(&spreads[2], 20, "false alarms", rates.different, 0.5, 1);
}

static void a_judge_who_finds_nothing_fails(void **state)
{
	(void)state;
	struct rates same = rates_of(970, &spreads[0], 20, 0, ALWAYS_SAME);
	struct rates other = rates_of(980, &spreads[0], 20, 0.01, ALWAYS_SAME);
	assert_true(same.different < 0.03);
	assert_true(other.more - other.power < -0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_program_is_called_different_in_3_to_7_percent),
		cmocka_unit_test(the_interval_holds_the_truth),
		cmocka_unit_test(one_percent_is_found_as_often_as_promised),
		cmocka_unit_test(the_detectable_change_is_found_by_80_of_100),
		cmocka_unit_test(a_single_promise_is_kept_less_often),
		cmocka_unit_test(five_times_the_same_gives_one_false_alarm_in_twenty),
		cmocka_unit_test(of_what_is_found_among_events_little_is_chance),
		cmocka_unit_test(a_t_test_of_unpaired_runs_fails),
		cmocka_unit_test(a_fixed_order_fails_under_drift),
		cmocka_unit_test(a_judge_who_finds_nothing_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
