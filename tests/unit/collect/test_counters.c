/* What counters have counted, on CPUs that may leave, and the periods that are drawn for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <errno.h>

#include "base/clock.h"
#include "made_up_counters.h"

static void set(struct made_up_event *event, uint64_t value, uint64_t enabled_ns,
		uint64_t running_ns)
{
	event->value = value;
	event->enabled_ns = enabled_ns;
	event->running_ns = running_ns;
}

static void counts_are_scaled_to_the_time_that_they_were_enabled(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	scene_open(&s);
	set(scene_event(&s, FAULTS, 3), 100, 1000, 250);
	set(scene_event(&s, CYCLES, 3), 5000, 2000, 2000);
	set(scene_event(&s, INSTRUCTIONS, 3), 7000, 2000, 2000);
	scene_event(&s, FAULTS, 3)->lost = 3;
	scene_event(&s, INSTRUCTIONS, 3)->lost = 2;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	const struct lane *faults = counters_lane(&s.counters, FAULTS, 1);
	const struct lane *cycles = counters_lane(&s.counters, CYCLES, 1);
	const struct lane *members = counters_lane(&s.counters, INSTRUCTIONS, 1);
	assert_true(faults->advanced == 400 && faults->sums.count == 400);
	assert_int_equal(faults->sums.enabled_ns, 1000);
	assert_int_equal(faults->sums.running_ns, 250);
	assert_int_equal(faults->sums.lost_ring, 3);
	assert_true(faults->rate_per_second == 100 * 1e9 / 250);
	assert_true(cycles->sums.count == 5000 && members->sums.count == 7000);
	assert_int_equal(members->sums.lost_ring, 2);
	assert_true(counters_lane(&s.counters, CYCLES, 0)->sums.count == 0);

	/* What was read counts once. */
	set(scene_event(&s, FAULTS, 3), 150, 1100, 350);
	scene_event(&s, FAULTS, 3)->lost = 4;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(faults->sums.count == 450);
	assert_int_equal(faults->sums.lost_ring, 4);
	assert_true(members->sums.count == 7000);
	/* Of clocks weights are known without it. */
	set(scene_event(&s, CLOCK, 0), 10, 10, 10);
	assert_int_equal(counters_read(&s.counters, COUNTERS_COUNTED), 0);
	assert_true(counters_lane(&s.counters, CLOCK, 0)->sums.count == 0);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, CLOCK, 0)->sums.count == 10);
	scene_end(&s);
}

/* The group is as {a,b:S}, where now its leader and now the sampled one is a clock. */
static void what_is_sampled_says_whether_its_group_is_read(void **state)
{
	(void)state;
	for (size_t clock = CYCLES; clock <= INSTRUCTIONS; clock++) {
		struct scene s;
		scene_begin(&s);
		scene_init(&s);
		struct sampler *samplers = s.counters.samplers;
		samplers[CYCLES].sampled_by = samplers[INSTRUCTIONS].sampled_by = INSTRUCTIONS;
		samplers[CYCLES].sampled = false;
		samplers[INSTRUCTIONS].sampled = true;
		samplers[clock].clock = true;
		assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
		assert_int_equal(counters_enable(&s.counters, &s.err), 0);
		struct lane *leader = counters_lane(&s.counters, CYCLES, 0);
		struct lane *sampled = counters_lane(&s.counters, INSTRUCTIONS, 0);
		assert_int_equal(leader->periods.count, 0);
		assert_int_equal(sampled->periods.count, 1);
		set(scene_event(&s, CYCLES, 0), 50, 10, 10);
		set(scene_event(&s, INSTRUCTIONS, 0), 70, 10, 10);
		assert_int_equal(counters_read(&s.counters, COUNTERS_COUNTED), 0);
		assert_true(leader->advanced == (clock == CYCLES ? 50 : 0));
		assert_true(sampled->advanced == (clock == CYCLES ? 70 : 0));
		assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
		assert_true(leader->advanced == 50 && sampled->advanced == 70);
		scene_end(&s);
	}
}

/* Linux before 6.0: losses come as records alone. */
static void without_a_count_of_losses_readings_are_shorter(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	s.features.format_lost = FACT_NO;
	scene_open(&s);
	set(scene_event(&s, CYCLES, 0), 50, 10, 10);
	set(scene_event(&s, INSTRUCTIONS, 0), 70, 10, 10);
	set(scene_event(&s, FAULTS, 0), 9, 10, 10);
	scene_event(&s, FAULTS, 0)->lost = 3;
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, CYCLES, 0)->sums.count == 50);
	assert_true(counters_lane(&s.counters, INSTRUCTIONS, 0)->sums.count == 70);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 9);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 0)->sums.lost_ring, 0);
	scene_end(&s);
}

/* One task on two CPUs: enabled on both, and running on one at a time. */
static void inherited_counts_are_scaled_by_all_cpus_together(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	s.options.inherit = true;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, 4711, 0, &s.err), 0);
	assert_int_equal(scene_event(&s, FAULTS, 0)->task, 4711);
	assert_true(scene_event(&s, FAULTS, 0)->attr.inherit &&
		    scene_event(&s, FAULTS, 0)->attr.freq);
	set(scene_event(&s, FAULTS, 0), 10, 1000, 300);
	set(scene_event(&s, FAULTS, 3), 20, 1000, 200);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(s.counters.samplers[FAULTS].multiplexed == 2);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 20);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 40);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 0)->sums.enabled_ns, 600);
	assert_int_equal(counters_lane(&s.counters, FAULTS, 1)->sums.running_ns, 200);
	/* A hair more than it ran is the time that reading takes. */
	set(scene_event(&s, FAULTS, 0), 20, 2000, 1295);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(s.counters.samplers[FAULTS].multiplexed == 1);
	assert_true(counters_lane(&s.counters, FAULTS, 0)->sums.count == 30);
	scene_end(&s);
}

static void a_cpu_that_leaves_has_the_same_rings_and_lanes_when_it_returns(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	scene_open(&s);
	uint64_t old_id = scene_event(&s, FAULTS, 3)->id;
	void *memory = counters_ring(&s.counters, 1, false)->memory;
	/* It counted for 1 ms, and then was gone. */
	uint64_t began_ns = counters_by_id(&s.counters, old_id)->began_ns;
	for (size_t i = 0; i < EVENTS; i++)
		set(scene_event(&s, i, 3), 10, 1000000, 1000000);
	uint64_t now_ns = began_ns + 50000000;
	counters_lose_cpu(&s.counters, 1, now_ns);
	assert_true(s.counters.absences[1].away && !s.counters.absences[0].away);
	assert_in_range(s.counters.absences[1].since_ns, began_ns - 10000000, began_ns + 1000000);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 10);
	counters_lose_cpu(&s.counters, 1, now_ns + 1); /* still */
	assert_in_range(s.counters.absences[1].since_ns, began_ns - 10000000, began_ns + 1000000);
	set(scene_event(&s, FAULTS, 3), 99, 1000000, 1000000);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 10);

	uint64_t since_ns = s.counters.absences[1].since_ns, from_ns, to_ns;
	scene_sideband(3)->lost = 6;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), 0);
	assert_int_equal(from_ns, since_ns);
	assert_true(to_ns >= from_ns && !s.counters.absences[1].away);
	assert_int_equal(s.counters.count, 2 * EVENTS);
	assert_int_equal(s.counters.sideband_lost, 6);
	assert_ptr_equal(counters_ring(&s.counters, 1, false)->memory, memory);
	const struct made_up_event *faults = scene_event(&s, FAULTS, 3);
	assert_int_not_equal(faults->id, old_id);
	assert_true(faults->counts);
	/* Records of both belong there. */
	assert_ptr_equal(counters_by_id(&s.counters, old_id),
			 counters_by_id(&s.counters, faults->id));
	set(scene_event(&s, FAULTS, 3), 5, 10, 10);
	assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
	assert_true(counters_lane(&s.counters, FAULTS, 1)->sums.count == 15);
	scene_end(&s);
}

static int gone(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	return attr->config == PERF_COUNT_SW_PAGE_FAULTS && cpu == 3 ? -ENODEV : 0;
}

static void a_cpu_that_leaves_again_is_tried_once_more(void **state)
{
	(void)state;
	struct scene s;
	uint64_t from_ns, to_ns;
	scene_begin(&s);
	scene_open(&s);
	counters_lose_cpu(&s.counters, 1, clock_monotonic_ns());
	made_up.judge = gone;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), -ENODEV);
	assert_true(s.counters.absences[1].away);
	made_up.judge = NULL;
	assert_int_equal(counters_return_cpu(&s.counters, 1, &from_ns, &to_ns, &s.err), 0);
	assert_int_equal(s.counters.count, 2 * EVENTS);
	assert_true(scene_event(&s, FAULTS, 3)->counts);
	scene_end(&s);
}

static void periods_are_drawn_anew_around_what_the_rate_asks_for(void **state)
{
	(void)state;
	struct scene s;
	struct random_state random = random_seed(1);
	scene_begin(&s);
	scene_open(&s);
	/* 8e9 faults a second, of which 1000 are wanted. */
	set(scene_event(&s, FAULTS, 0), 8000000, 1000000, 1000000);
	set(scene_event(&s, FAULTS, 3), 1000000, 1000000, 1000000);
	for (int i = 0; i < 60; i++) {
		assert_int_equal(counters_read(&s.counters, COUNTERS_ALL), 0);
		counters_redraw(&s.counters, &random);
		scene_event(&s, FAULTS, 0)->value += 8000000;
		scene_event(&s, FAULTS, 0)->enabled_ns += 1000000;
		scene_event(&s, FAULTS, 0)->running_ns += 1000000;
	}
	uint64_t mean = s.counters.samplers[FAULTS].mean_period;
	assert_in_range(mean, period_mean_for(8e9, 1000, 1) * 99 / 100,
			period_mean_for(8e9, 1000, 1) * 101 / 100);
	struct lane *lane = counters_lane(&s.counters, FAULTS, 0);
	assert_int_equal(lane->sums.period_changes, 60);
	uint64_t period = scene_event(&s, FAULTS, 0)->attr.sample_period;
	assert_int_equal(period, period_log_current(&lane->periods));
	assert_in_range(period, mean / 2, mean * 3 / 2);
	/* A window of weights has one period: not before it is settled. */
	assert_int_equal(weight_sample(&lane->weight, 1), 0);
	counters_redraw(&s.counters, &random);
	assert_int_equal(lane->sums.period_changes, 60);
	/* A clock's lasts 16 times as long as it is. */
	struct lane *clock = counters_lane(&s.counters, CLOCK, 0);
	uint64_t changes = clock->sums.period_changes;
	struct period_change *last = &clock->periods.changes[clock->periods.count - 1];
	last->time_ns = clock_monotonic_ns() + 1;
	last->time_ns -= 15 * last->period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(clock->sums.period_changes, changes);
	last->time_ns -= 2 * last->period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(clock->sums.period_changes, changes + 1);
	scene_end(&s);
}

static void a_clock_ticks_more_slowly_while_its_cpu_idles_or_a_budget_demands_it(void **state)
{
	(void)state;
	struct scene s;
	struct random_state random = random_seed(1);
	scene_begin(&s);
	scene_open(&s);
	uint64_t mean = s.counters.samplers[CLOCK].mean_period;
	struct lane *calm = counters_lane(&s.counters, CLOCK, 0);
	struct lane *busy = counters_lane(&s.counters, CLOCK, 1);
	counters_redraw(&s.counters, &random);
	calm->calm = true;
	counters_redraw(&s.counters, &random); /* at once */
	uint64_t period = scene_event(&s, CLOCK, 0)->attr.sample_period;
	assert_int_equal(period, period_log_current(&calm->periods));
	assert_in_range(period, CALM_PERIODS * mean / 2 - 64, CALM_PERIODS * mean * 3 / 2);
	assert_in_range(period_log_current(&busy->periods), mean / 2 - 64, mean * 3 / 2);
	/* It lasts for 128 of its periods, as those of others for 16. */
	struct period_change *drawn = &calm->periods.changes[calm->periods.count - 1];
	uint64_t changes = calm->sums.period_changes;
	drawn->time_ns = clock_monotonic_ns() - 120 * period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(calm->sums.period_changes, changes);
	drawn->time_ns -= 9 * period;
	counters_redraw(&s.counters, &random);
	assert_int_equal(calm->sums.period_changes, changes + 1);
	/* It wakes up: at once, again, and what is owed is half of the new period. */
	calm->calm = false;
	counters_redraw(&s.counters, &random);
	period = period_log_current(&calm->periods);
	assert_in_range(period, mean / 2 - 64, mean * 3 / 2);
	assert_int_equal(period_log_owed(&calm->periods), period / 2);
	assert_true(lane_calm(calm, clock_monotonic_ns()).ns > 0);
	assert_true(lane_calm(busy, clock_monotonic_ns()).ns == 0);

	/* A CPU that leaves while it is calm: the time away is none of it, and it begins as any. */
	calm->calm = true;
	counters_redraw(&s.counters, &random);
	struct calm_time before = lane_calm(calm, clock_monotonic_ns());
	uint64_t from_ns, to_ns;
	for (size_t i = 0; i < EVENTS; i++) /* enabled until it leaves */
		scene_event(&s, i, 0)->enabled_ns = clock_monotonic_ns();
	counters_lose_cpu(&s.counters, 0, clock_monotonic_ns());
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	assert_int_equal(counters_return_cpu(&s.counters, 0, &from_ns, &to_ns, &s.err), 0);
	assert_true(to_ns - from_ns >= 50000000);
	assert_false(calm->calm || calm->drawn_calm);
	assert_int_equal(period_log_current(&calm->periods),
			 s.counters.samplers[CLOCK].attr.sample_period);
	struct calm_time after = lane_calm(calm, clock_monotonic_ns());
	assert_true(after.ns >= before.ns && after.ns - before.ns < 50000000);
	assert_true(after.interrupts >= before.interrupts - 1);

	s.counters.period_scale = 3;
	struct period_change *last = &busy->periods.changes[busy->periods.count - 1];
	last->time_ns -= 17 * last->period;
	counters_redraw(&s.counters, &random);
	assert_in_range(period_log_current(&busy->periods), 3 * mean / 2 - 192, 3 * mean * 3 / 2);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_scaled_to_the_time_that_they_were_enabled),
		cmocka_unit_test(
			a_clock_ticks_more_slowly_while_its_cpu_idles_or_a_budget_demands_it),
		cmocka_unit_test(what_is_sampled_says_whether_its_group_is_read),
		cmocka_unit_test(without_a_count_of_losses_readings_are_shorter),
		cmocka_unit_test(inherited_counts_are_scaled_by_all_cpus_together),
		cmocka_unit_test(a_cpu_that_leaves_has_the_same_rings_and_lanes_when_it_returns),
		cmocka_unit_test(a_cpu_that_leaves_again_is_tried_once_more),
		cmocka_unit_test(periods_are_drawn_anew_around_what_the_rate_asks_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
