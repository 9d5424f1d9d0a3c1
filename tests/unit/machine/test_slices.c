#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "machine/slices.h"

/* A rate in events per us that changes from ms to ms. */
struct made_up_load {
	double mean, spread; /* of the noise, per ms */
	double step;	     /* of a slow walk, per ms */
	double switches;     /* chance per ms of going over to the other of two rates */
};

struct outcome {
	double covered, width, error_squares;
	size_t judged;
};

static double uniform(struct random_state *random)
{
	return (double)(random_u64(random) >> 11) / 9007199254740992.0;
}

static double normal(struct random_state *random)
{
	return sqrt(-2 * log(1 - uniform(random))) * cos(6.283185307179586 * uniform(random));
}

/* One run: the event is on the PMU for `on` of every `cycle` ms, from a random phase on. */
static void run_once(const struct made_up_load *load, int on, int cycle, int length,
		     struct random_state *random, struct outcome *outcome)
{
	struct slices slices = { 0 };
	double truth = 0, count = 0, running = 0, slice = 0, slice_ms = 0;
	double walk = 0;
	bool fast = false;
	int phase = (int)(uniform(random) * cycle);
	for (int ms = 0; ms < length; ms++) {
		walk += load->step * normal(random);
		if (uniform(random) < load->switches)
			fast = !fast;
		double events =
			1000 * (load->mean * (fast ? 2 : 1) + walk + load->spread * normal(random));
		truth += events;
		bool seen = (ms + phase) % cycle < on;
		if (seen) {
			count += events, running += 1e6;
			slice += events, slice_ms += 1;
		} else if (slice_ms > 0) {
			slices_add(&slices, slice, slice_ms * 1e6);
			slice = slice_ms = 0;
		}
	}
	double half, estimate = count * length * 1e6 / running;
	if (!slices_half_width(&slices, count, length * 1e6, running, &half))
		return;
	outcome->judged++;
	outcome->covered += fabs(estimate - truth) <= half;
	outcome->width += half;
	outcome->error_squares += (estimate - truth) * (estimate - truth);
}

static struct outcome simulate(const struct made_up_load *load, int on, int cycle, int length)
{
	struct random_state random = random_seed(14);
	struct outcome outcome = { 0 };
	for (int run = 0; run < 2000; run++)
		run_once(load, on, cycle, length, &random, &outcome);
	assert_int_equal(outcome.judged, 2000);
	outcome.covered /= (double)outcome.judged;
	outcome.width /= (double)outcome.judged;
	return outcome;
}

static double ideal_width(const struct outcome *outcome)
{
	return 1.96 * sqrt(outcome->error_squares / (double)outcome->judged);
}

static void intervals_hold_the_truth_of_a_noisy_rate(void **state)
{
	(void)state;
	const struct made_up_load noisy = { .mean = 5, .spread = 2 };
	static const int cases[][3] = {
		{ 7, 10, 500 }, { 4, 8, 500 }, { 4, 12, 1200 }, { 4, 8, 4000 }
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct outcome outcome = simulate(&noisy, cases[i][0], cases[i][1], cases[i][2]);
		assert_true(outcome.covered > 0.93 && outcome.covered < 0.97);
		assert_true(outcome.width < 1.3 * ideal_width(&outcome));
	}
}

static void slow_changes_do_not_widen_them(void **state)
{
	(void)state;
	const struct made_up_load drifting = { .mean = 50, .spread = 2, .step = 0.05 };
	struct outcome outcome = simulate(&drifting, 4, 8, 2000);
	assert_true(outcome.covered > 0.93);
	assert_true(outcome.width < 2 * ideal_width(&outcome));
}

static void phases_longer_than_a_slice_are_covered(void **state)
{
	(void)state;
	const struct made_up_load phases = { .mean = 5, .spread = 0.1, .switches = 0.02 };
	struct outcome outcome = simulate(&phases, 4, 8, 3000);
	assert_true(outcome.covered > 0.93);
	/* what lies between two slices alike is less in doubt than is assumed */
	assert_true(outcome.width < 3.5 * ideal_width(&outcome));
}

static void a_steady_rate_leaves_no_doubt(void **state)
{
	(void)state;
	struct slices slices = { 0 };
	double half = -1;
	for (int i = 0; i < 10; i++)
		slices_add(&slices, 1000 + 100 * (i % 3), 10 + i % 3);
	assert_true(slices_half_width(&slices, 10900, 2 * 109, 109, &half));
	assert_true(half < 1e-3);
}

/* The variance of independent slices as if nothing were left out, without which the intervals of a
 * count that is nearly all seen are far too wide. */
static void what_was_seen_is_no_longer_in_doubt(void **state)
{
	(void)state;
	const struct made_up_load noisy = { .mean = 5, .spread = 2 };
	struct outcome little = simulate(&noisy, 9, 10, 1000);
	struct outcome much = simulate(&noisy, 2, 10, 1000);
	assert_true(little.width < much.width / 4);
	assert_true(little.covered > 0.93 && little.covered < 0.97);
}

static void too_few_slices_say_nothing(void **state)
{
	(void)state;
	struct slices slices = { 0 };
	double half;
	for (int i = 0; i < SLICES_LEAST - 1; i++)
		slices_add(&slices, 100 * i, 10);
	slices_add(&slices, 5, 0);
	assert_false(slices_half_width(&slices, 300, 60, 30, &half));
	slices_add(&slices, 100, 10);
	assert_true(slices_half_width(&slices, 300, 60, 30, &half));
	assert_false(slices_half_width(&slices, 300, 60, 0, &half));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_the_truth_of_a_noisy_rate),
		cmocka_unit_test(slow_changes_do_not_widen_them),
		cmocka_unit_test(phases_longer_than_a_slice_are_covered),
		cmocka_unit_test(a_steady_rate_leaves_no_doubt),
		cmocka_unit_test(what_was_seen_is_no_longer_in_doubt),
		cmocka_unit_test(too_few_slices_say_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
