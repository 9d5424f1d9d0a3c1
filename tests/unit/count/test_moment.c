#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "count/count_set.h"
#include "count/moment.h"
#include "counting_machine.h"
#include "culprit/counter.h"
#include "machine/event.h"
#include "machine/pmu.h"

struct scene {
	struct tree tree;
	struct pmu_list pmus;
	struct event_list events;
	struct count_set *set;
	struct count_moment moments[8];
};

static void open_scene(struct scene *scene, const char *events)
{
	*scene = (struct scene){ 0 };
	tree_make(&scene->tree, counting_intel);
	assert_int_equal(pmu_list_read(&scene->tree.root, &scene->pmus, NULL), 0);
	assert_int_equal(event_list_parse(&scene->events, &scene->pmus, NULL, events, NULL), 0);
	struct count_target own = { 0, -1 };
	struct count_options options = { .targets = &own, .target_count = 1, .live = true };
	assert_int_equal(count_set_open(&scene->events, &scene->pmus, &options,
					&count_kernel_replayed, &scene->set, NULL),
			 0);
}

static void close_scene(struct scene *scene)
{
	count_set_close(scene->set);
	event_list_release(&scene->events);
	pmu_list_release(&scene->pmus);
	tree_remove(&scene->tree);
	assert_int_equal(replayed.open, 0);
	replayed_begin();
}

static struct replayed_event *cycles(void)
{
	return replayed_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

static uint64_t count_now(struct scene *scene)
{
	assert_int_equal(count_set_moments(scene->set, scene->moments), 0);
	assert_true(scene->moments[0].known);
	return scene->moments[0].count;
}

static void reads_without_a_call_where_the_page_allows_it(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	replayed_schedule(cycles(), 3, 1000);
	replayed.counters[3] = 234;
	size_t reads = replayed.reads;
	assert_true(count_set_is_live(scene.set, 0));
	assert_int_equal(count_now(&scene), 1234);
	assert_int_equal(replayed.reads, reads);
	close_scene(&scene);
}

static void extends_the_sign_of_a_counter_of_48_bits(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	/* the kernel sets a counter to minus the period: offset + (2^48 - period) is not the count
	 */
	replayed_schedule(cycles(), 0, (int64_t)1 << 47);
	replayed.counters[0] = ((uint64_t)1 << 48) - ((uint64_t)1 << 47) + 17;
	assert_int_equal(count_now(&scene), 17);
	/* it wraps: the kernel has moved the offset on */
	replayed_schedule(cycles(), 0, ((int64_t)1 << 48) + 5);
	replayed.counters[0] = 3;
	assert_int_equal(count_now(&scene), ((uint64_t)1 << 48) + 8);
	close_scene(&scene);
}

static void a_counter_that_wraps_between_moments_does_not_jump(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	replayed.width = 32;
	open_scene(&scene, "cycles");
	replayed_schedule(cycles(), 0, 0x80000000);
	replayed.counters[0] = 0xfffffff0;
	uint64_t before = count_now(&scene);
	replayed_schedule(cycles(), 0, 0x100000000);
	replayed.counters[0] = 0x80000010;
	assert_int_equal(count_now(&scene) - before, 0x20);
	close_scene(&scene);
}

/* The page has the times of when the event was put on the PMU: seconds ago, and a moment ago. */
static void times_that_lag_behind_are_not_known(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_value value;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	struct perf_event_mmap_page *page = cycles()->page;
	replayed_schedule(cycles(), 3, 1000);
	page->time_enabled = page->time_running = 1000;
	count_now(&scene);
	struct count_moment begin = scene.moments[0];
	replayed_schedule(cycles(), 3, 1500);
	page->time_enabled = page->time_running = 5000001000;
	count_now(&scene);
	count_difference(&begin, &scene.moments[0], NULL, 1, &value);
	assert_true(value.value == 500);
	assert_int_equal(value.flags, CULPRIT_INTERRUPTED);
	assert_int_equal(value.enabled_ns, 0);
	assert_int_equal(value.running_ns, 0);
	close_scene(&scene);
}

static int interrupts_left;

static void move_the_counter(uint32_t counter)
{
	if (interrupts_left-- <= 0)
		return;
	/* switched out and in again: the count so far is in the offset, on another counter */
	replayed_schedule(cycles(), 5, 7000);
	replayed.counters[5] = 1;
	replayed.counters[counter] = 999999;
}

static void reads_again_when_the_kernel_came_between(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	replayed_schedule(cycles(), 0, 1000);
	interrupts_left = 1;
	replayed.interrupt = move_the_counter;
	assert_int_equal(count_now(&scene), 7001);
	close_scene(&scene);
}

static void asks_the_kernel_when_the_event_is_off_the_pmu(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	cycles()->count = 4321;
	replayed_take_off(cycles());
	size_t counter_reads = replayed.counter_reads;
	assert_false(count_set_is_live(scene.set, 0));
	assert_int_equal(count_now(&scene), 4321);
	assert_int_equal(replayed.counter_reads, counter_reads);
	close_scene(&scene);
}

static void asks_the_kernel_once_reading_is_no_longer_allowed(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	replayed_schedule(cycles(), 0, 100);
	replayed.counters[0] = 1;
	assert_int_equal(count_now(&scene), 101);
	cycles()->page->cap_user_rdpmc = 0;
	cycles()->count = 150;
	size_t counter_reads = replayed.counter_reads;
	assert_int_equal(count_now(&scene), 150);
	assert_int_equal(replayed.counter_reads, counter_reads);
	close_scene(&scene);
}

static void works_without_pages(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = replayed.maps_nothing = true;
	open_scene(&scene, "cycles,instructions");
	cycles()->count = 77;
	assert_int_equal(count_now(&scene), 77);
	close_scene(&scene);
}

static void a_pinned_group_without_counters_is_unknown(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	open_scene(&scene, "cycles:D");
	cycles()->in_error = true;
	assert_int_equal(count_set_moments(scene.set, scene.moments), 0);
	assert_false(scene.moments[0].known);
	struct culprit_value value;
	count_difference(&scene.moments[0], &scene.moments[0], NULL, 1, &value);
	assert_true(isnan(value.value));
	assert_true(value.flags & CULPRIT_ABSENT);
	close_scene(&scene);
}

static void a_failing_read_is_reported(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	open_scene(&scene, "cycles");
	replayed.read_fails = -EIO;
	assert_int_equal(count_set_moments(scene.set, scene.moments), -EIO);
	assert_false(scene.moments[0].known);
	close_scene(&scene);
}

static void the_page_gives_times_once_they_differ(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles");
	struct perf_event_mmap_page *page = cycles()->page;
	replayed_schedule(cycles(), 0, 0);
	page->time_enabled = 5000;
	page->time_running = 2000;
	page->cap_user_time = 1;
	page->time_mult = 3;
	page->time_shift = 1;
	page->time_offset = (uint64_t)-1500;
	replayed.ticks = 1400; /* 1400 * 3 / 2 = 2100 ns on the page's clock */
	count_now(&scene);
	assert_int_equal(scene.moments[0].enabled_ns, 5600);
	assert_int_equal(scene.moments[0].running_ns, 2600);
	close_scene(&scene);
}

static void the_time_of_groups_that_take_turns_goes_on(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	replayed.pmu_counters = 1;
	open_scene(&scene, "cycles,instructions");
	assert_int_not_equal(count_set_group(scene.set, 0), count_set_group(scene.set, 1));
	struct perf_event_mmap_page *page = cycles()->page;
	replayed_schedule(cycles(), 0, 0);
	replayed_schedule(replayed_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS), 1, 0);
	page->time_enabled = page->time_running = 5000;
	page->cap_user_time = 1;
	page->time_mult = 1;
	page->time_offset = (uint64_t)-1000;
	replayed.ticks = 1400;
	count_now(&scene);
	assert_int_equal(scene.moments[0].enabled_ns, 5400);
	assert_int_equal(scene.moments[0].running_ns, 5400);
	close_scene(&scene);
}

static struct count_moment at(uint64_t count, uint64_t enabled, uint64_t running, uint32_t sequence)
{
	return (struct count_moment){ count, enabled, running, sequence, true, false };
}

static struct culprit_value between(struct count_moment a, struct count_moment b,
				    const struct count_cost *cost)
{
	struct culprit_value value;
	count_difference(&a, &b, cost, 1, &value);
	return value;
}

static void an_undisturbed_count_is_exact(void **state)
{
	(void)state;
	struct culprit_value value = between(at(100, 5, 5, 2), at(1100, 25, 25, 2), NULL);
	assert_true(value.value == 1000 && value.low == 1000 && value.high == 1000);
	assert_int_equal(value.flags, 0);
}

static void a_part_of_the_time_is_scaled_and_said(void **state)
{
	(void)state;
	struct culprit_value value = between(at(0, 0, 0, 0), at(300, 1000, 250, 0), NULL);
	assert_true(value.value == 1200);
	assert_int_equal(value.count, 300);
	assert_int_equal(value.flags, CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL);
	assert_true(isnan(value.low) && isnan(value.high));
}

static void never_on_the_pmu_is_no_zero(void **state)
{
	(void)state;
	struct culprit_value value = between(at(5, 10, 10, 0), at(5, 1010, 10, 0), NULL);
	assert_true(isnan(value.value));
	assert_int_equal(value.flags, CULPRIT_ABSENT | CULPRIT_UNSCHEDULED);
	assert_int_equal(value.enabled_ns, 1000);
}

static void being_switched_out_is_said(void **state)
{
	(void)state;
	assert_int_equal(between(at(0, 0, 0, 2), at(9, 0, 0, 6), NULL).flags, CULPRIT_INTERRUPTED);
	assert_int_equal(between(at(0, 0, 0, 2), at(9, 0, 0, 2), NULL).flags, 0);
	assert_int_equal(between(at(0, 0, 0, 0), at(9, 0, 0, 6), NULL).flags, 0);
}

static void the_cost_is_subtracted_with_its_spread(void **state)
{
	(void)state;
	struct count_cost cost = { .median = 40, .spread = 3, .known = true };
	struct culprit_value value = between(at(0, 1, 1, 2), at(1040, 2, 2, 2), &cost);
	assert_true(value.value == 1000 && value.low == 997 && value.high == 1003);
	value = between(at(0, 1, 1, 2), at(39, 2, 2, 2), &cost);
	assert_true(value.value == 0 && value.low == 0 && value.high == 2);
	assert_int_equal(value.flags, CULPRIT_TOO_SMALL);
	struct count_cost exact = { .median = 14, .known = true };
	value = between(at(0, 1, 1, 2), at(14, 2, 2, 2), &exact);
	assert_true(value.value == 0 && value.high == 0);
	assert_int_equal(value.flags, 0);
}

static void software_events_are_read_beside_those_of_the_pmu(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	open_scene(&scene, "cycles,page-faults,instructions");
	replayed_schedule(cycles(), 0, 10);
	struct replayed_event *instructions =
		replayed_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	replayed_schedule(instructions, 1, 20);
	replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)->count = 30;
	size_t reads = replayed.reads;
	count_now(&scene);
	assert_int_equal(scene.moments[0].count, 10);
	assert_int_equal(scene.moments[1].count, 30);
	assert_int_equal(scene.moments[2].count, 20);
	assert_int_equal(replayed.reads, reads + 1);
	assert_int_equal(count_set_group(scene.set, 0), count_set_group(scene.set, 2));
	assert_int_not_equal(count_set_group(scene.set, 0), count_set_group(scene.set, 1));
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_without_a_call_where_the_page_allows_it),
		cmocka_unit_test(extends_the_sign_of_a_counter_of_48_bits),
		cmocka_unit_test(a_counter_that_wraps_between_moments_does_not_jump),
		cmocka_unit_test(times_that_lag_behind_are_not_known),
		cmocka_unit_test(reads_again_when_the_kernel_came_between),
		cmocka_unit_test(asks_the_kernel_when_the_event_is_off_the_pmu),
		cmocka_unit_test(asks_the_kernel_once_reading_is_no_longer_allowed),
		cmocka_unit_test(works_without_pages),
		cmocka_unit_test(a_pinned_group_without_counters_is_unknown),
		cmocka_unit_test(a_failing_read_is_reported),
		cmocka_unit_test(the_page_gives_times_once_they_differ),
		cmocka_unit_test(the_time_of_groups_that_take_turns_goes_on),
		cmocka_unit_test(an_undisturbed_count_is_exact),
		cmocka_unit_test(a_part_of_the_time_is_scaled_and_said),
		cmocka_unit_test(never_on_the_pmu_is_no_zero),
		cmocka_unit_test(being_switched_out_is_said),
		cmocka_unit_test(the_cost_is_subtracted_with_its_spread),
		cmocka_unit_test(software_events_are_read_beside_those_of_the_pmu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
