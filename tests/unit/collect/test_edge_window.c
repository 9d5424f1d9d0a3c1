#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "base/random.h"
#include "collect/edge_window.h"
#include "support/simulated_loop.h"

#define PATHS 30000u

static void a_path_goes_round_where_it_goes_back_or_comes_by_one_branch_twice(void **state)
{
	(void)state;
	struct edge_outcome on[] = {
		{ .from = 10, .to = 12, .kind = INTERPRET_CONDITIONAL },
		{ .from = 20, .to = 30, .kind = INTERPRET_CONDITIONAL },
		{ .from = 40, .to = 5, .kind = INTERPRET_RETURN }, /* backwards, but no loop */
		{ .from = 6, .to = 3, .kind = INTERPRET_CALL },
		{ .from = 4, .to = 2, .kind = INTERPRET_INDIRECT },
	};
	assert_false(edge_window_is_loop(NULL, 0));
	assert_false(edge_window_is_loop(on, COUNT_OF(on)));
	on[4] = (struct edge_outcome){ .from = 20, .to = 22, .kind = INTERPRET_CONDITIONAL };
	assert_true(edge_window_is_loop(on, COUNT_OF(on)));
	assert_false(edge_window_is_loop(on, COUNT_OF(on) - 1));
	on[1].to = 20; /* to itself */
	assert_true(edge_window_is_loop(on, 2));
	assert_false(edge_window_is_loop(on, 1));
}

/* A branch that a path comes by at its start, and one at its end. */
static const struct edge_outcome goes_round[] = {
	{ .from = 40, .to = 30, .at = 29, .kind = INTERPRET_CONDITIONAL },
	{ .from = 50, .to = 60, .at = 60, .kind = INTERPRET_CONDITIONAL },
	{ .from = 40, .to = 30, .at = 90, .kind = INTERPRET_CONDITIONAL },
};

static void a_path_that_ends_counts_from_its_start(void **state)
{
	(void)state;
	uint64_t turn = 0;
	for (unsigned instructions = 0; instructions < EDGE_LOOP_INSTRUCTIONS; instructions++)
		assert_int_equal(edge_window_first(goes_round, 3, instructions, &turn), 0);
	assert_int_equal(turn, 0);
}

static void a_path_that_left_its_loop_counts_from_its_start(void **state)
{
	(void)state;
	uint64_t turn = 0;
	struct edge_outcome left[COUNT_OF(goes_round)];
	for (size_t change = 0; change < 4; change++) {
		memcpy(left, goes_round, sizeof(left));
		if (change == 0)
			left[2].from = 41;
		else if (change == 1)
			left[2].at = 89;
		else if (change == 2)
			left[0].at = 30;
		assert_int_equal(edge_window_first(left, 3, EDGE_LOOP_INSTRUCTIONS, &turn) != 0,
				 change == 3);
		assert_int_equal(turn, change == 3);
	}
	assert_int_equal(edge_window_first(NULL, 0, EDGE_LOOP_INSTRUCTIONS, &turn), 0);
}

static void where_a_path_that_goes_on_counts_is_spread_evenly(void **state)
{
	(void)state;
	enum { PLACES = EDGE_LOOP_INSTRUCTIONS - EDGE_INSTRUCTIONS + 1, EACH = 100 };
	unsigned times[PLACES] = { 0 };
	uint64_t turn = 0;
	for (unsigned i = 0; i < PLACES * EACH; i++) {
		unsigned first = edge_window_first(goes_round, 3, EDGE_LOOP_INSTRUCTIONS, &turn);
		assert_true(first < PLACES);
		times[first]++;
	}
	for (unsigned i = 0; i < PLACES; i++)
		assert_in_range(times[i], EACH - 4, EACH + 4);
}

/* Points that the shares of a loop's branch are off at most, over periods of 2 to 16 rounds. */
struct off {
	double from_start, in_window;
};

static struct off off_most(const struct simulated_loop *loop)
{
	static const unsigned periods[] = { 2, 3, 4, 5, 6, 8, 12, 16 };
	struct off most = { 0, 0 };
	for (size_t i = 0; i < COUNT_OF(periods); i++) {
		struct simulated_loop one = *loop;
		struct random_state random = random_seed(periods[i]);
		one.period = periods[i];
		struct simulated_shares shares = simulated_loop_shares(&one, PATHS, &random);
		most.from_start =
			fmax(most.from_start, 100 * fabs(shares.from_start - shares.truth));
		most.in_window = fmax(most.in_window, 100 * fabs(shares.in_window - shares.truth));
	}
	return most;
}

static void expect_off(const struct simulated_loop *loop, double from_start_least,
		       double in_window_most)
{
	struct off off = off_most(loop);
	printf("off by %.2f points from the start, %.2f in a window\n", off.from_start,
	       off.in_window);
	assert_true(off.from_start >= from_start_least);
	assert_true(off.in_window <= in_window_most);
}

static void what_follows_a_slow_round_counts_no_more_than_its_share(void **state)
{
	(void)state;
	/* kernels/branches has such rounds, 5 instructions and 4 */
	const struct simulated_loop behind = { .instructions = 5,
					       .taken_instructions = 4,
					       .slow = 12 };
	const struct simulated_loop at = {
		.instructions = 5, .taken_instructions = 4, .slow = 12, .before = true
	};
	const struct simulated_loop longer = { .instructions = 15,
					       .taken_instructions = 12,
					       .slow = 30 };
	const struct simulated_loop nested = { .instructions = 4,
					       .taken_instructions = 20,
					       .slow = 12 };
	expect_off(&behind, 2.5, 0.7);
	expect_off(&at, 4, 0.7);
	expect_off(&longer, 12, 2.6);
	expect_off(&nested, 5, 0.7);
}

static void a_branch_that_goes_at_random_keeps_its_share(void **state)
{
	(void)state;
	static const double shares[] = { 0, 0.1, 0.5, 1 };
	for (size_t i = 0; i < COUNT_OF(shares); i++)
		for (int slow = 0; slow < 3; slow++) {
			const struct simulated_loop loop = { .instructions = 5,
							     .taken_instructions = 4,
							     .taken = shares[i],
							     .slow = slow ? 12 : 0,
							     .before = slow == 2 };
			struct random_state random = random_seed(i);
			struct simulated_shares seen = simulated_loop_shares(&loop, PATHS, &random);
			assert_true(fabs(seen.in_window - seen.truth) < 0.006);
			if (shares[i] == 0 || shares[i] == 1)
				assert_true(seen.in_window == shares[i]);
		}
}

static void where_nothing_waits_or_paths_end_it_is_as_from_the_start(void **state)
{
	(void)state;
	const struct simulated_loop even = { .instructions = 5, .taken_instructions = 4 };
	assert_true(off_most(&even).in_window < 0.4);
	struct simulated_loop ending = {
		.instructions = 5, .taken_instructions = 4, .slow = 12, .period = 4, .known = 3
	};
	struct random_state random = random_seed(1);
	struct simulated_shares shares = simulated_loop_shares(&ending, PATHS, &random);
	assert_true(fabs(shares.in_window - shares.from_start) < 0.003);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_goes_round_where_it_goes_back_or_comes_by_one_branch_twice),
		cmocka_unit_test(a_path_that_ends_counts_from_its_start),
		cmocka_unit_test(a_path_that_left_its_loop_counts_from_its_start),
		cmocka_unit_test(where_a_path_that_goes_on_counts_is_spread_evenly),
		cmocka_unit_test(what_follows_a_slow_round_counts_no_more_than_its_share),
		cmocka_unit_test(a_branch_that_goes_at_random_keeps_its_share),
		cmocka_unit_test(where_nothing_waits_or_paths_end_it_is_as_from_the_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
