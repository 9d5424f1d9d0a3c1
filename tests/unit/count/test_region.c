#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "made_up_regions.h"

static void expect_near(double found, double expected, double within)
{
	if (!(fabs(found - expected) <= within))
		fail_msg("%.17g is not %.17g to %g", found, expected, within);
}

static void set_clock(uint64_t cost, uint64_t noise)
{
	made_up = (struct made_up_clock){ .cost = cost, .noise = noise, .random = random_seed(14) };
}

/* Row `index`, which there has to be. */
static const struct culprit_region_result *row(struct region_scene *scene, size_t index)
{
	assert_true(index < culprit_regions_results(scene->regions));
	assert_int_equal(culprit_regions_result(scene->regions, index, &scene->result), 0);
	return &scene->result;
}

static struct culprit_region *joined(struct region_scene *scene, const char *name)
{
	struct culprit_region *region = culprit_region_named(scene->regions, name);
	assert_non_null(region);
	assert_int_equal(culprit_regions_join(scene->regions, &scene->error), 0);
	return region;
}

static void count_extremes_and_total_are_exact(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(20, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	struct culprit_region *region = joined(&scene, "lookup");
	uint64_t total = 0;
	for (uint64_t i = 1; i <= 999; i++) {
		made_up_region(region, 1000 + i * i % 997);
		total += 1000 + i * i % 997;
	}
	assert_int_equal(culprit_regions_results(scene.regions), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct culprit_region_event *time = &row(&scene, i)->time;
		assert_string_equal(scene.result.name, "lookup");
		assert_int_equal(time->count, 999);
		assert_int_equal(time->absent, 0);
		assert_true(time->total == (double)total);
		assert_true(time->min == 1000 && time->max == 1996);
		expect_near(time->median, 1498, 1498.0 / 16);
		expect_near(time->p99, 1990, 1990.0 / 16);
		assert_true(time->low <= time->total && time->high >= time->total);
		assert_int_equal(scene.result.mismatched + scene.result.omitted, 0);
	}
	assert_int_not_equal(scene.result.thread, 0);
	assert_int_equal(row(&scene, 0)->thread, 0);
	assert_int_equal(culprit_regions_result(scene.regions, 2, &scene.result), -EINVAL);
	region_scene_end(&scene);
}

static void what_inner_regions_cost_is_not_in_the_outer_ones(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(30, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "cycles", NULL), 0);
	struct culprit_region *outer = joined(&scene, "outer");
	struct culprit_region *inner = culprit_region_named(scene.regions, "inner");
	for (int i = 0; i < 10; i++) {
		culprit_region_begin(outer);
		made_up_work(500);
		for (int k = 0; k < 7; k++) {
			culprit_region_begin(inner);
			made_up_work(100);
			made_up_region(inner, 10); /* within itself */
			culprit_region_end(inner);
		}
		culprit_region_end(outer);
	}
	assert_true(row(&scene, 0)->time.min == 1270 && scene.result.time.max == 1270);
	assert_true(scene.result.time.total == 12700);
	assert_true(scene.result.events[0].min == 1270 && scene.result.events[0].total == 12700);
	assert_int_equal(row(&scene, 2)->time.count, 140);
	assert_true(scene.result.time.min == 10 && scene.result.time.max == 110);
	assert_true(scene.result.time.total == 70 * 120 &&
		    scene.result.events[0].total == 70 * 120);
	region_scene_end(&scene);
}

static void without_calibration_the_cost_is_in_the_values_and_nothing_has_an_interval(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(30, 0);
	const struct culprit_options options = { .flags = CULPRIT_NOT_CALIBRATED };
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, &options), 0);
	made_up_region(joined(&scene, "a"), 100);
	assert_true(row(&scene, 0)->time.total == 130 && scene.result.time.median == 130);
	assert_true(isnan(scene.result.time.low) && isnan(scene.result.time.measurable));
	assert_int_equal(scene.result.time.flags, CULPRIT_NO_INTERVAL);
	region_scene_end(&scene);
}

static void a_region_below_the_measurable_size_says_so(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(30, 10);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	struct culprit_region *small = joined(&scene, "small");
	struct culprit_region *large = culprit_region_named(scene.regions, "large");
	for (int i = 0; i < 100; i++) {
		made_up_region(small, 10);
		made_up_region(large, 1000);
	}
	/* one reading lies within each, of a standard deviation of 10 / sqrt(48): 2 % of 141 are
	 * two */
	expect_near(row(&scene, 0)->time.measurable, 141, 50);
	assert_int_equal(scene.result.time.flags, CULPRIT_TOO_SMALL);
	assert_int_equal(row(&scene, 2)->time.flags, 0);
	region_scene_end(&scene);
}

static void ends_that_do_not_fit_are_counted(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(10, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	struct culprit_region *a = joined(&scene, "a");
	struct culprit_region *b = culprit_region_named(scene.regions, "b");
	culprit_region_end(a); /* has not begun */
	for (int i = 0; i < 1000; i++) {
		culprit_region_begin(a);
		culprit_region_begin(b); /* is left without an end */
		made_up_work(100);
		culprit_region_end(a);
	}
	assert_int_equal(row(&scene, 0)->mismatched, 1);
	assert_int_equal(scene.result.time.count, 1000);
	assert_true(scene.result.time.min == 110); /* with the begin of b */
	assert_int_equal(row(&scene, 2)->mismatched, 1000);
	assert_int_equal(scene.result.time.count, 0);
	assert_true(isnan(scene.result.time.median) && scene.result.time.total == 0);
	region_scene_end(&scene);
}

static void regions_that_are_too_deep_are_omitted_and_those_around_them_are_not(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(10, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	struct culprit_region *region = joined(&scene, "recursive");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < CULPRIT_REGION_DEPTH + 5; i++)
			culprit_region_begin(region);
		for (int i = 0; i < CULPRIT_REGION_DEPTH + 5; i++)
			culprit_region_end(region);
	}
	made_up_region(region, 7);
	assert_int_equal(row(&scene, 0)->time.count, 3 * CULPRIT_REGION_DEPTH + 1);
	assert_int_equal(scene.result.omitted, 15);
	assert_int_equal(scene.result.mismatched, 0);
	region_scene_end(&scene);
}

static struct culprit_region *of_handler;

static void mark_in_handler(int number)
{
	(void)number;
	made_up_region(of_handler, 100);
}

static uint64_t ticks_that_bring_a_signal(void)
{
	static bool came;
	if (!came) {
		came = true;
		raise(SIGUSR1);
	}
	return made_up_ticks();
}

/* The thread has a stack by then, and no cells for the region yet. */
static void a_handler_that_marks_regions_waits_until_its_thread_has_joined(void **state)
{
	(void)state;
	struct region_scene scene;
	struct sigaction action = { .sa_handler = mark_in_handler }, before;
	set_clock(20, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	of_handler = culprit_region_named(scene.regions, "handler");
	scene.regions->clock.read = ticks_that_bring_a_signal;
	sigaction(SIGUSR1, &action, &before);
	assert_int_equal(culprit_regions_join(scene.regions, &scene.error), 0);
	sigaction(SIGUSR1, &before, NULL);
	const struct culprit_region_result *result = row(&scene, 0);
	assert_int_equal(result->time.count, 1);
	assert_true(result->time.total == 100);
	assert_int_equal(result->not_joined + result->omitted + result->mismatched, 0);
	region_scene_end(&scene);
}

static void a_scope_ends_where_it_is_left(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(10, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	struct culprit_region *region = joined(&scene, "scope");
	for (int i = 0; i < 4; i++) {
		CULPRIT_SCOPE(region);
		made_up_work(50);
		if (i % 2)
			continue;
		made_up_work(50);
	}
	assert_int_equal(row(&scene, 0)->time.count, 4);
	assert_true(scene.result.time.total == 300);
	region_scene_end(&scene);
}

static struct replayed_event *cycles(void)
{
	return replayed_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static void events_are_read_in_user_space_while_they_can_be(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(0, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "cycles", NULL), 0);
	replayed.has_rdpmc = true;
	struct culprit_region *region = joined(&scene, "a");
	replayed_schedule(cycles(), 3, 0);
	size_t reads = replayed.reads;
	culprit_region_begin(region);
	replayed.counters[3] = 700;
	culprit_region_end(region);
	assert_int_equal(replayed.reads, reads);
	assert_true(row(&scene, 0)->events[0].total == 700);
	/* taken off in between: the kernel is asked, and knows of the change */
	culprit_region_begin(region);
	replayed.counters[3] = 800;
	cycles()->count = 800;
	replayed_take_off(cycles());
	culprit_region_end(region);
	assert_int_equal(replayed.reads, reads + 1);
	assert_int_equal(row(&scene, 0)->events[0].count, 2);
	assert_true(scene.result.events[0].total == 800 && scene.result.events[0].min == 100);
	region_scene_end(&scene);
}

static void an_event_that_shared_its_counter_is_scaled_and_has_no_interval(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(0, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "cycles", NULL), 0);
	struct culprit_region *region = joined(&scene, "a");
	culprit_region_begin(region);
	cycles()->count += 1000;
	cycles()->enabled_ns += 4000;
	cycles()->running_ns += 1000;
	culprit_region_end(region);
	culprit_region_begin(region);
	cycles()->enabled_ns += 4000; /* and this time it never had one */
	culprit_region_end(region);
	const struct culprit_region_event *event = &row(&scene, 0)->events[0];
	assert_int_equal(event->count, 1);
	assert_int_equal(event->absent, 1);
	assert_true(event->total == 4000 && isnan(event->low) && isnan(event->high));
	assert_int_equal(event->flags,
			 CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL | CULPRIT_UNSCHEDULED);
	region_scene_end(&scene);
}

static void a_thread_that_was_switched_out_is_said_to_be(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(20, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "page-faults", NULL), 0);
	struct culprit_region *region = joined(&scene, "work");
	struct replayed_event *faults =
		replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	for (unsigned switched = 0; switched < 2; switched++) {
		culprit_region_begin(region);
		made_up.ticks += 100000;
		faults->enabled_ns += switched ? 40000 : 100100;
		faults->running_ns = faults->enabled_ns;
		culprit_region_end(region);
		assert_int_equal(row(&scene, 0)->events[0].flags & CULPRIT_INTERRUPTED,
				 switched ? CULPRIT_INTERRUPTED : 0);
	}
	region_scene_end(&scene);
}

static void events_that_cannot_be_read_are_absent_and_the_clock_goes_on(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(0, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "cycles", NULL), 0);
	struct culprit_region *region = joined(&scene, "a");
	replayed.read_fails = -EIO;
	made_up_region(region, 90);
	assert_true(row(&scene, 0)->time.total == 90);
	assert_int_equal(scene.result.events[0].absent, 1);
	assert_int_equal(scene.result.events[0].flags, CULPRIT_ABSENT);
	assert_true(isnan(scene.result.events[0].total));
	region_scene_end(&scene);
}

static int no_instructions(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid;
	(void)cpu;
	return attr->type == PERF_TYPE_HARDWARE ? -ENOENT : 0;
}

static void what_is_counted_for_an_event_is_said(void **state)
{
	(void)state;
	struct region_scene scene;
	struct culprit_event event;
	set_clock(0, 0);
	replayed_begin();
	assert_int_equal(region_scene_begin(&scene, counting_no_pmu, "page-faults", NULL), 0);
	culprit_regions_close(scene.regions);
	replayed.judge = no_instructions;
	assert_int_equal(regions_open("cycles,instructions", NULL, &scene.world, &scene.regions,
				      &scene.error),
			 0);
	made_up_region(joined(&scene, "a"), 100);
	assert_int_equal(culprit_regions_event(scene.regions, 0, &event), 0);
	assert_string_equal(event.counted, "task-clock");
	assert_non_null(event.why);
	assert_int_equal(culprit_regions_event(scene.regions, 1, &event), 0);
	assert_null(event.counted);
	assert_int_equal(culprit_regions_event(scene.regions, 2, &event), -EINVAL);
	assert_true(row(&scene, 0)->events[0].flags & CULPRIT_SUBSTITUTE);
	assert_true(scene.result.events[1].flags & CULPRIT_ABSENT);
	region_scene_end(&scene);
}

static void mistakes_are_refused(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(0, 0);
	struct culprit_options options = { .subject = CULPRIT_CPU };
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, &options), -EINVAL);
	assert_string_equal(scene.error.text, "regions count the threads that join");
	region_scene_end(&scene);
	assert_int_equal(region_scene_begin(&scene, counting_intel, "cylces", NULL), -ENOENT);
	assert_non_null(strstr(scene.error.text, "cylces"));
	region_scene_end(&scene);
	assert_int_equal(region_scene_begin(&scene, counting_intel,
					    "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10",
					    NULL),
			 -E2BIG);
	assert_string_equal(scene.error.text, "regions count 15 events at most, not 16");
	region_scene_end(&scene);
}

static void names_are_the_same_region_and_limited_in_number(void **state)
{
	(void)state;
	struct region_scene scene;
	set_clock(0, 0);
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	char name[16] = "0";
	struct culprit_region *first = joined(&scene, name);
	assert_int_equal(culprit_regions_join(scene.regions, &scene.error), -EALREADY);
	for (int i = 1; i < CULPRIT_REGION_NAMES; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_non_null(culprit_region_named(scene.regions, name));
	}
	assert_null(culprit_region_named(scene.regions, "one more"));
	assert_ptr_equal(culprit_region_named(scene.regions, "0"), first);
	assert_int_equal(culprit_regions_results(scene.regions), CULPRIT_REGION_NAMES);
	region_scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(count_extremes_and_total_are_exact),
		cmocka_unit_test(what_inner_regions_cost_is_not_in_the_outer_ones),
		cmocka_unit_test(
			without_calibration_the_cost_is_in_the_values_and_nothing_has_an_interval),
		cmocka_unit_test(a_region_below_the_measurable_size_says_so),
		cmocka_unit_test(ends_that_do_not_fit_are_counted),
		cmocka_unit_test(
			regions_that_are_too_deep_are_omitted_and_those_around_them_are_not),
		cmocka_unit_test(a_handler_that_marks_regions_waits_until_its_thread_has_joined),
		cmocka_unit_test(a_scope_ends_where_it_is_left),
		cmocka_unit_test(events_are_read_in_user_space_while_they_can_be),
		cmocka_unit_test(an_event_that_shared_its_counter_is_scaled_and_has_no_interval),
		cmocka_unit_test(a_thread_that_was_switched_out_is_said_to_be),
		cmocka_unit_test(events_that_cannot_be_read_are_absent_and_the_clock_goes_on),
		cmocka_unit_test(what_is_counted_for_an_event_is_said),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(names_are_the_same_region_and_limited_in_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
