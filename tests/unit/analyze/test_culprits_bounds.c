#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/culprits/culprits_private.h"
#include "base/cleanup.h"
#include "culprit_story.h"

/* --- executions --- */

static void what_may_have_happened_any_number_of_times_has_no_bound(void **state)
{
	(void)state;
	const double events[] = { 3 };
	bool by_events;
	assert_true(isinf(culprit_miss_cycles(INFINITY, 38, 38, NULL, NULL, 0, &by_events)));
	assert_true(isinf(culprit_miss_cycles(INFINITY, 0, 120, NULL, NULL, 0, &by_events)));
	assert_true(culprit_miss_cycles(INFINITY, 0, 0, NULL, NULL, 0, &by_events) == 0);
	assert_false(by_events);
	/* Unless it was counted. */
	assert_true(culprit_miss_cycles(INFINITY, 38, 38, events, NULL, 0, &by_events) == 3 * 38);
	assert_true(by_events);
}

/* What may have happened is bounded by the most executions that there can have been. */
static void a_cause_takes_as_much_as_the_most_executions_allow(void **state)
{
	(void)state;
	struct story story = { sum, sizeof(sum), .stall = { [ADD_UP] = 230 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	uint32_t block = cfg_block_of(&subject.procedure->cfg, ADD_UP);
	const struct frequency *executed = &subject.procedure->frequencies.blocks[block];
	assert_true(executed->high > 1.005 * executed->value);
	expect_near(find_culprit(&subject, ADD_UP, DYNAMIC_DCACHE)->high, 132 * executed->high,
		    1e-9);
	expect_near(find_culprit(&subject, ADD_UP, DYNAMIC_DTLB)->high, 38 * executed->high, 1e-9);
}

static void a_stall_has_the_interval_of_its_cycles(void **state)
{
	(void)state;
	/* One that was charged a little less than its best case: chance explains that. */
	struct story story = { sum, sizeof(sum), .stall = { [ADD_UP] = 30, [COUNT_DOWN] = -0.01 } };
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	const struct cycles_cost *cost = &subject.procedure->instructions[ADD_UP];
	const struct stall *stall = stall_at(&subject, ADD_UP);
	double best = stall->issue_cycles + stall->static_cycles;
	assert_true(cost->low < 0.995 * cost->cpi && cost->high > 1.005 * cost->cpi);
	expect_near(stall->dynamic_low, cost->low * cost->executed - best, 1e-9);
	expect_near(stall->dynamic_high, cost->high * cost->executed - best, 1e-9);
	assert_true(stall_at(&subject, COUNT_DOWN)->noise_cycles < 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_cycles == 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_low < 0);
	assert_true(stall_at(&subject, COUNT_DOWN)->dynamic_high > 0);
}

/* --- events --- */

static void events_bound_what_a_cause_can_take(void **state)
{
	(void)state;
	struct story story = {
		sum,
		sizeof(sum),
		.stall = { [ADD_UP] = 30 },
		.event = { "D1mr", "DLmr" },
		.counted = { { [LOAD] = EXECUTIONS / 2 }, { [LOAD] = EXECUTIONS / 10 } },
	};
	story.executed[5] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_listed(&subject, ADD_UP, DYNAMIC_DCACHE, LOAD, 0.5 * 12 + 0.1 * 120);
	assert_true(find_culprit(&subject, ADD_UP, DYNAMIC_DCACHE)->bound_by_events);
	/* Where no line is missing no translation is. */
	expect_listed(&subject, ADD_UP, DYNAMIC_DTLB, LOAD, 0.5 * 38);
}

static void an_event_that_never_happened_clears_its_cause(void **state)
{
	(void)state;
	struct story story = {
		diamond,
		sizeof(diamond),
		.stall = { [ARM] = 5 },
		.event = { "Bcm", "I1mr" },
	};
	for (int i = ARM; i < JOIN; i++)
		story.executed[i] = EXECUTIONS / 2;
	story.executed[LEAVE] = 1;
	CLEANUP(subject_release) struct subject subject = { 0 };
	tell(&subject, &story);
	expect_cleared(&subject, ARM, DYNAMIC_MISPREDICT);
	assert_int_equal(stall_at(&subject, ARM)->culprit_count, 0);
	CLEANUP(subject_release) struct subject load = { 0 };
	struct story other = { sum, sizeof(sum), .stall = { [ADD_UP] = 30 } };
	other.event[0] = "dTLB-load-misses";
	other.executed[5] = 1;
	tell(&load, &other);
	expect_only(&load, ADD_UP, DYNAMIC_DCACHE);
}

/* Where an event has no samples, some may be missing, of as many events as others stand for. */
static void samples_that_are_missing_weigh_what_others_do(void **state)
{
	(void)state;
	struct story story = { diamond, sizeof(diamond), .stall = { [ARM] = 20 } };
	for (int i = ARM; i < JOIN; i++)
		story.executed[i] = EXECUTIONS / 2;
	story.executed[LEAVE] = 1;
	story.elsewhere = "branch-misses";
	for (uint64_t samples = 0; samples <= 10; samples += 10) {
		CLEANUP(subject_release) struct subject subject = { 0 };
		story.elsewhere_samples = samples;
		tell(&subject, &story);
		expect_listed(&subject, ARM, DYNAMIC_MISPREDICT, BRANCH, 4);
		assert_int_equal(find_culprit(&subject, ARM, DYNAMIC_MISPREDICT)->bound_by_events,
				 samples > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_have_happened_any_number_of_times_has_no_bound),
		cmocka_unit_test(a_cause_takes_as_much_as_the_most_executions_allow),
		cmocka_unit_test(a_stall_has_the_interval_of_its_cycles),
		cmocka_unit_test(events_bound_what_a_cause_can_take),
		cmocka_unit_test(an_event_that_never_happened_clears_its_cause),
		cmocka_unit_test(samples_that_are_missing_weigh_what_others_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
