#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/turn_time.h"
#include "support/normal.h"

#define RUNS 1000

/* Events a ms: noise around a mean, or two rates in turn. */
struct made_up_load {
	double mean, noise;
	int period_ms; /* 0: one rate; else none in the second half of this time */
};

struct outcome {
	double covered, width, error_squares, errors;
	size_t judged;
};

static double rate_at(const struct made_up_load *load, int ms, struct random_state *random)
{
	double rate = fmax(load->mean + load->noise * normal(random), 0);
	rate = round(rate);
	return load->period_ms && ms % load->period_ms >= load->period_ms / 2 ? 0 : rate;
}

static int turn_length(struct random_state *random, int mean_ms, bool same)
{
	return same ? mean_ms : mean_ms / 2 + (int)random_below(random, (uint64_t)mean_ms + 1);
}

/* One recording of one of `sets` sets; with `same` all turns last as long and all rounds have one
 * order. */
static void run_once(const struct made_up_load *load, int sets, int length_ms, bool same,
		     struct random_state *random, struct outcome *outcome)
{
	enum { MEAN_MS = 100 };
	struct turn_time time = { .since_ns = 1000 };
	struct turn_round round_of;
	double truth = 0, sum = 0;
	int turn = 0, own = (int)random_below(random, (uint64_t)sets);
	int ends = turn_length(random, MEAN_MS, same);
	for (int ms = 0; ms < length_ms; ms++) {
		double events = rate_at(load, ms, random);
		truth += events;
		if (ms == ends) {
			if (turn == own)
				turn_time_rest(&time, 0);
			turn = (turn + 1) % sets;
			if (turn == 0) {
				uint64_t now_ns = 1000 + (uint64_t)ms * 1000000;
				assert_true(turn_time_close(&time, now_ns, &round_of));
				sum += round_of.events;
				own = same ? own : (int)random_below(random, (uint64_t)sets);
			}
			ends += turn_length(random, MEAN_MS, same);
		}
		if (turn == own)
			turn_time_add(&time, (uint64_t)events, 1000000, 1000000);
	}
	if (turn == own)
		turn_time_rest(&time, 0);
	assert_true(turn_time_finish(&time, 1000 + (uint64_t)length_ms * 1000000, &round_of));
	sum += round_of.events;
	double variance;
	assert_true(turn_time_take_variance(&time, &variance));
	double half = 1.96 * sqrt(variance);
	outcome->judged++;
	outcome->covered += fabs(sum - truth) <= half;
	outcome->width += half / truth;
	outcome->errors += sum / truth - 1;
	outcome->error_squares += (sum / truth - 1) * (sum / truth - 1);
}

static struct outcome simulate(const struct made_up_load *load, int sets, int length_ms, bool same)
{
	struct random_state random = random_seed(15);
	struct outcome outcome = { 0 };
	for (int run = 0; run < RUNS; run++)
		run_once(load, sets, length_ms, same, &random, &outcome);
	double judged = (double)outcome.judged;
	outcome.covered /= judged;
	outcome.width /= judged;
	outcome.errors /= judged;
	outcome.error_squares /= judged;
	return outcome;
}

static void intervals_hold_the_truth(void **state)
{
	(void)state;
	const struct made_up_load noisy = { .mean = 5000, .noise = 2000 };
	static const int cases[][2] = { { 2, 3000 }, { 2, 12000 }, { 3, 6000 }, { 5, 10000 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome = simulate(&noisy, cases[i][0], cases[i][1], false);
		double ideal = 1.96 * sqrt(outcome.error_squares);
		print_message("%d sets, %d ms: %.1f %% hold the truth; half width %.2f %%, ideal "
			      "%.2f %%\n",
			      cases[i][0], cases[i][1], 100 * outcome.covered, 100 * outcome.width,
			      100 * ideal);
		assert_true(outcome.covered > 0.93 && outcome.covered < 0.97);
		assert_true(outcome.width < 1.3 * ideal);
		assert_true(fabs(outcome.errors) <
			    4 * sqrt(outcome.error_squares / (double)outcome.judged));
	}
}

/* A program with the rhythm of the turns: two turns last as long as its period. */
static void no_rhythm_keeps_a_side(void **state)
{
	(void)state;
	const struct made_up_load in_step = { .mean = 5000, .noise = 100, .period_ms = 200 };
	struct outcome random = simulate(&in_step, 2, 20000, false);
	print_message(
		"in step with turns: %.1f %% hold the truth; half width %.2f %%, ideal %.2f %%\n",
		100 * random.covered, 100 * random.width, 196 * sqrt(random.error_squares));
	assert_true(fabs(random.errors) < 4 * sqrt(random.error_squares / RUNS));
	assert_true(sqrt(random.error_squares) < 0.08);
	/* what lies beside a turn is its opposite, which the interval knows nothing of */
	assert_true(random.covered > 0.8);
	/* the control: turns that all last as long see all of its events or none */
	struct outcome same = simulate(&in_step, 2, 20000, true);
	assert_true(sqrt(same.error_squares) > 0.9);
}

static void a_steady_rate_is_known(void **state)
{
	(void)state;
	const struct made_up_load steady = { .mean = 1000 };
	struct outcome outcome = simulate(&steady, 3, 5000, false);
	assert_true(sqrt(outcome.error_squares) < 1e-9);
	assert_true(outcome.width < 1e-6);
}

static void a_round_has_a_turn(void **state)
{
	(void)state;
	struct turn_time time = { .since_ns = 100 };
	struct turn_round over;
	double variance;
	assert_false(turn_time_finish(&time, 200, &over)); /* nothing is known */
	assert_false(turn_time_close(&time, 200, &over));
	turn_time_add(&time, 30, 40, 40);
	turn_time_add(&time, 10, 60, 60);
	assert_true(turn_time_advanced(&time));
	turn_time_rest(&time, 0);
	assert_false(turn_time_advanced(&time));
	assert_true(turn_time_close(&time, 500, &over)); /* what came before the turn, too */
	assert_true(over.events == 160 && over.ns == 400 && over.ran_ns == 100);
	assert_false(turn_time_close(&time, 600, &over));
	/* beside other users of the PMU it ran half of its turn */
	turn_time_add(&time, 10, 100, 50);
	turn_time_rest(&time, 0);
	assert_true(turn_time_close(&time, 700, &over));
	assert_true(over.events == 40 && over.ns == 200 && over.ran_ns == 50);
	/* a control group that ran for a tenth of the turn, and in the next one not at all */
	turn_time_add(&time, 10, 10, 10);
	turn_time_rest(&time, 100);
	assert_true(turn_time_close(&time, 900, &over));
	assert_true(over.events == 20 && over.ran_ns == 100);
	turn_time_rest(&time, 100);
	assert_true(turn_time_close(&time, 1100, &over));
	assert_true(over.events == 0 && over.ns == 200 && over.ran_ns == 100);
	/* the last round has no turn: the rate of the last one stands for it */
	turn_time_add(&time, 50, 100, 100);
	turn_time_rest(&time, 0);
	assert_true(turn_time_close(&time, 1300, &over));
	assert_true(over.events == 100);
	assert_true(turn_time_finish(&time, 1500, &over));
	assert_true(over.events == 100 && over.ns == 200 && over.ran_ns == 0);
	assert_true(turn_time_take_variance(&time, &variance));
	assert_true(variance > 0);
	assert_false(turn_time_take_variance(&time, &variance));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(no_rhythm_keeps_a_side),
		cmocka_unit_test(a_steady_rate_is_known),
		cmocka_unit_test(a_round_has_a_turn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
