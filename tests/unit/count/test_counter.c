#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitizers.h"
#include "counter_scene.h"
#include "support/skip.h"

static void a_measurement_is_the_difference_of_two_readings(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "cycles,instructions", NULL), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), -EINVAL);
	assert_int_equal(culprit_counters_stop(scene.counters), -EINVAL);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 1000;
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 1700;
	hardware(PERF_COUNT_HW_INSTRUCTIONS)->count = 1400;
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	assert_true(scene.values[0].value == 700);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 1900;
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 5000;
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	assert_true(scene.values[0].value == 900 && scene.values[1].value == 1400);
	close_scene(&scene);
}

static int read_while_threads_start_and_end(size_t reads)
{
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "{cycles,instructions}", NULL), 0);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 1000;
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	hardware(PERF_COUNT_HW_CPU_CYCLES)->count = 1700;
	replayed.read_fails = -ECHILD;
	replayed.read_failures = reads;
	int status = culprit_counters_stop(scene.counters);
	replayed.read_fails = 0;
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	assert_true(status || scene.values[0].value == 700);
	close_scene(&scene);
	return status;
}

/* Linux fails then: the counts are there a moment later. */
static void threads_that_start_and_end_are_waited_for(void **state)
{
	(void)state;
	assert_int_equal(read_while_threads_start_and_end(3), 0);
	assert_int_equal(read_while_threads_start_and_end(100), 0);
	assert_int_equal(read_while_threads_start_and_end(SIZE_MAX), -EAGAIN);
}

/* The cost was measured while the kernel was asked for both events. */
static void counters_that_are_read_another_way_than_the_cost_was_have_no_interval(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, counting_intel, "cycles,instructions", NULL), 0);
	assert_int_equal(flags_of_measuring(&scene), 0);
	assert_true(scene.values[0].low == scene.values[0].value);
	/* the other event: between the readings of the first it is read in user space now */
	replayed_schedule(hardware(PERF_COUNT_HW_INSTRUCTIONS), 3, 0);
	replayed_schedule(hardware(PERF_COUNT_HW_CPU_CYCLES), 4, 0);
	assert_int_equal(flags_of_measuring(&scene), CULPRIT_NO_INTERVAL);
	assert_true(isnan(scene.values[0].low) && isnan(scene.values[0].high));
	assert_false(isnan(scene.values[0].value));
	/* as if the cost had been measured so; then one of them was off the PMU once */
	scene.counters->costs_asked = 0;
	assert_int_equal(flags_of_measuring(&scene), 0);
	hardware(PERF_COUNT_HW_INSTRUCTIONS)->page->time_enabled++;
	assert_int_equal(flags_of_measuring(&scene), CULPRIT_NO_INTERVAL);
	close_scene(&scene);
}

/* Longer than a test takes: wall time that is longer would be an interruption. */
static const uint64_t minute_ns = UINT64_C(60000000000);

static void time_on_cores_of_another_type_is_no_multiplexing(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_hybrid, "cycles", NULL), 0);
	assert_int_equal(culprit_counters_count(scene.counters), 2);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	uint64_t wide = (uint64_t)4 << PERF_PMU_TYPE_SHIFT,
		 narrow = (uint64_t)10 << PERF_PMU_TYPE_SHIFT;
	struct replayed_event *core = hardware(wide), *atom = hardware(narrow);
	assert_true(core && atom);
	core->count = 4000, core->enabled_ns = minute_ns, core->running_ns = minute_ns / 10 * 7;
	atom->count = 300, atom->enabled_ns = minute_ns, atom->running_ns = minute_ns / 10 * 3;
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(culprit_counters_event(scene.counters, i, &scene.event), 0);
		bool is_core = strcmp(scene.event.core_type, "cpu_core") == 0;
		assert_true(scene.values[i].value == (is_core ? 4000 : 300));
		assert_int_equal(scene.values[i].flags, CULPRIT_MIGRATED);
	}
	close_scene(&scene);
}

/* That it ran elsewhere is told by whatever counts there, not by an event of the same name alone.
 */
static void events_of_different_names_tell_where_it_ran(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(
		open_scene(&scene, counting_hybrid, "cpu_core/event=1/,cpu_atom/event=2/", NULL),
		0);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	struct replayed_event *core = replayed_find(4, 1), *atom = replayed_find(10, 2);
	assert_true(core && atom);
	core->count = 4000, core->enabled_ns = minute_ns, core->running_ns = minute_ns / 10 * 7;
	atom->count = 300, atom->enabled_ns = minute_ns, atom->running_ns = minute_ns / 10 * 3;
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	assert_true(scene.values[0].value == 4000 && scene.values[1].value == 300);
	assert_int_equal(scene.values[0].flags, CULPRIT_MIGRATED);
	assert_int_equal(scene.values[1].flags, CULPRIT_MIGRATED);
	close_scene(&scene);
}

static void a_third_of_the_time_off_the_pmu_is_multiplexing_on_such_machines_too(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_hybrid, "cycles", NULL), 0);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	struct replayed_event *core = hardware((uint64_t)4 << PERF_PMU_TYPE_SHIFT);
	struct replayed_event *atom = hardware((uint64_t)10 << PERF_PMU_TYPE_SHIFT);
	core->count = 4000, core->enabled_ns = 900, core->running_ns = 600;
	atom->enabled_ns = 900;
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 2), 0);
	size_t which = 0;
	assert_int_equal(culprit_counters_event(scene.counters, 0, &scene.event), 0);
	if (strcmp(scene.event.core_type, "cpu_core") != 0)
		which = 1;
	assert_true(scene.values[which].value == 6000);
	assert_true(scene.values[which].flags & CULPRIT_MULTIPLEXED);
	close_scene(&scene);
}

static void what_clocks_differ_by_is_no_interruption(void **state)
{
	(void)state;
	const uint64_t second = 1000000000;
	assert_false(counters_switched_out(1500, 1000));
	assert_false(counters_switched_out(second + 20000, second)); /* 20 millionths */
	assert_false(counters_switched_out(second, second + 20000));
	assert_true(counters_switched_out(4000, 1000));
	assert_true(counters_switched_out(second + 1000000, second));
}

#define RING_BYTES (16 * (size_t)sysconf(_SC_PAGESIZE))

/* The group of r1 and r2 is on the PMU every other 4 ms; the kernel notes it each half ms that it
 * is. r1 counts `base`, and `more` in every other turn, r2 ten times as much. */
static void take_turns(struct replayed_event *clock, uint64_t turns, uint64_t base, uint64_t more)
{
	uint64_t enabled = 0, running = 0, count = 0;
	for (uint64_t turn = 0; turn < turns; turn++) {
		for (int half_ms = 0; half_ms < 8; half_ms++) {
			enabled += 500000, running += 500000;
			count += base + (turn % 2 ? more : 0);
			const uint64_t words[] = {
				3, enabled, running, count, 10 * count, running
			};
			replayed_sample(clock, RING_BYTES, words, 6);
		}
		enabled += 4000000;
	}
	for (uint64_t config = 1; config <= 2; config++) {
		struct replayed_event *event = replayed_find(PERF_TYPE_RAW, config);
		event->count = config == 1 ? count : 10 * count;
		event->enabled_ns = enabled;
		event->running_ns = running;
	}
}

static void what_takes_turns_has_an_interval(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.pmu_counters = 2;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,r2,r3,r4", NULL), 0);
	struct replayed_event *clock = NULL, *leader = replayed_find(PERF_TYPE_RAW, 1);
	for (size_t i = 0; i < replayed.count; i++)
		if (replayed.events[i].open && replayed.events[i].attr.sample_period &&
		    &replayed.events[replayed.events[i].leader] == leader)
			clock = &replayed.events[i];
	assert_non_null(clock);
	assert_int_equal(clock->attr.type, PERF_TYPE_SOFTWARE);

	assert_int_equal(culprit_counters_start(scene.counters), 0);
	take_turns(clock, 40, 500, 0);
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 4), 0);
	assert_true(scene.values[0].value == 2 * 160000);
	assert_int_equal(scene.values[0].flags, CULPRIT_MULTIPLEXED);
	/* the same in every turn: nothing is in doubt */
	assert_true(scene.values[0].low > 319999 && scene.values[0].high < 320001);

	/* one turn 4000 and the next 8000: a squared difference of 4000^2 is twice the variance of
	   a turn; 40 turns were not seen, and the rate of those that stands for them has as much */
	culprit_counters_start(scene.counters);
	for (uint64_t config = 1; config <= 2; config++) {
		struct replayed_event *event = replayed_find(PERF_TYPE_RAW, config);
		event->count = event->enabled_ns = event->running_ns = 0;
	}
	culprit_counters_start(scene.counters);
	take_turns(clock, 40, 500, 500);
	culprit_counters_stop(scene.counters);
	culprit_counters_values(scene.counters, scene.values, 4);
	assert_true(scene.values[0].value == 480000);
	double half = scene.values[0].high - scene.values[0].value;
	double expected = 2.06 * sqrt(80.0 * 4000 * 4000 / 2);
	assert_true(half > 0.9 * expected && half < 1.05 * expected);
	assert_true(fabs(scene.values[1].high - scene.values[1].value - 10 * half) < 1e-3 * half);
	close_scene(&scene);
}

static void what_does_not_take_turns_has_no_clock(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.pmu_counters = 4;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,r2,r3,r4", NULL), 0);
	for (size_t i = 0; i < replayed.count; i++)
		assert_false(replayed.events[i].open && replayed.events[i].attr.sample_period);
	close_scene(&scene);
}

/* A measurement that the thread sleeps in, and that the event was enabled for 1 ns in. */
static uint32_t flags_after_a_sleep(struct scene *scene)
{
	struct replayed_event *cycles = hardware(PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(culprit_counters_start(scene->counters), 0);
	nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	cycles->enabled_ns = cycles->running_ns = 1;
	cycles->page->time_enabled = cycles->page->time_running = 1;
	assert_int_equal(culprit_counters_stop(scene->counters), 0);
	assert_int_equal(culprit_counters_values(scene->counters, scene->values, 1), 0);
	return scene->values[0].flags;
}

static void the_clock_tells_interruptions_where_the_page_does_not(void **state)
{
	(void)state;
	struct culprit_options options = { .flags = CULPRIT_NOT_CALIBRATED };
	struct scene scene;
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &options), 0);
	assert_int_equal(flags_after_a_sleep(&scene), CULPRIT_INTERRUPTED);
	close_scene(&scene);
	replayed.has_rdpmc = true;
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &options), 0);
	replayed_schedule(hardware(PERF_COUNT_HW_CPU_CYCLES), 0, 0);
	assert_int_equal(flags_after_a_sleep(&scene), 0);
	close_scene(&scene);
}

static void names_of_ones_own_are_counted(void **state)
{
	(void)state;
	struct scene scene;
	char path[] = "/tmp/culprit-definitions-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	static const char text[] =
		"# mine\nl3-miss = r412e\n  slow = cpu/event=0x3c,umask=2/u # u\n";
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	struct culprit_options options = { .definitions = path };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "l3-miss,slow,cycles", &options), 0);
	struct replayed_event *miss = replayed_find(PERF_TYPE_RAW, 0x412e);
	struct replayed_event *slow = replayed_find(4, 0x23c);
	assert_true(miss && slow && slow->attr.exclude_kernel && !miss->attr.exclude_kernel);
	assert_int_equal(culprit_counters_event(scene.counters, 0, &scene.event), 0);
	assert_string_equal(scene.event.name, "l3-miss");
	close_scene(&scene);
	unlink(path);
}

static void definitions_that_cannot_be_read_are_named(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_options options = { .definitions = "/nowhere/definitions" };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &options), -ENOENT);
	assert_string_equal(scene.error.text, "cannot read definitions '/nowhere/definitions': No "
					      "such file or directory");
	close_scene(&scene);
}

static void options_that_cannot_be_are_refused(void **state)
{
	(void)state;
	struct scene scene;
	static const struct culprit_options cases[] = {
		{ .subject = CULPRIT_PROCESS, .id = 0 },
		{ .subject = CULPRIT_THREAD, .id = -4 },
		{ .subject = CULPRIT_CPU, .id = -1 },
		{ .subject = (enum culprit_subject)77 },
		{ .flags = 1u << 20 },
		{ .reserved = { 0, 1 } },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		replayed_begin();
		assert_int_equal(open_scene(&scene, counting_intel, "cycles", &cases[i]), -EINVAL);
		close_scene(&scene);
	}
	struct culprit_options gone = { .subject = CULPRIT_PROCESS, .id = INT32_MAX };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &gone), -ESRCH);
	close_scene(&scene);
}

/* On the real kernel: what every machine can count. */

static void counts_page_faults_of_this_thread(void **state)
{
	(void)state;
	struct culprit_counters *counters;
	struct culprit_error error;
	struct culprit_value value;
	if (SANITIZERS)
		SKIP("a sanitizer's own memory has page faults, too");
	int status = culprit_counters_open("page-faults:u", NULL, &counters, &error);
	if (status == -EACCES || status == -ENOENT) {
		SKIP("page faults may not be counted: %s", error.text);
	}
	assert_int_equal(status, 0);
	enum { PAGES = 64 };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	madvise((void *)memory, PAGES * size, MADV_NOHUGEPAGE);
	assert_int_equal(culprit_counters_start(counters), 0);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * size] = 1;
	assert_int_equal(culprit_counters_stop(counters), 0);
	assert_int_equal(culprit_counters_values(counters, &value, 1), 0);
	/* each page of memory that was never used faults once */
	assert_in_range((uint64_t)value.value, PAGES, PAGES + 2);
	assert_int_equal(culprit_counters_start(counters), 0);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * size] = 2;
	assert_int_equal(culprit_counters_stop(counters), 0);
	assert_int_equal(culprit_counters_values(counters, &value, 1), 0);
	assert_true(value.value == 0);
	munmap((void *)memory, PAGES * size);
	culprit_counters_close(counters);
}

static void leaves_no_descriptor_open(void **state)
{
	(void)state;
	int before = open("/dev/null", O_RDONLY);
	close(before);
	for (int i = 0; i < 3; i++) {
		struct culprit_counters *counters;
		if (culprit_counters_open("cycles,page-faults:u", NULL, &counters, NULL) == 0)
			culprit_counters_close(counters);
	}
	int after = open("/dev/null", O_RDONLY);
	close(after);
	assert_int_equal(before, after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_measurement_is_the_difference_of_two_readings),
		cmocka_unit_test(threads_that_start_and_end_are_waited_for),
		cmocka_unit_test(
			counters_that_are_read_another_way_than_the_cost_was_have_no_interval),
		cmocka_unit_test(time_on_cores_of_another_type_is_no_multiplexing),
		cmocka_unit_test(events_of_different_names_tell_where_it_ran),
		cmocka_unit_test(
			a_third_of_the_time_off_the_pmu_is_multiplexing_on_such_machines_too),
		cmocka_unit_test(what_clocks_differ_by_is_no_interruption),
		cmocka_unit_test(what_takes_turns_has_an_interval),
		cmocka_unit_test(what_does_not_take_turns_has_no_clock),
		cmocka_unit_test(the_clock_tells_interruptions_where_the_page_does_not),
		cmocka_unit_test(names_of_ones_own_are_counted),
		cmocka_unit_test(definitions_that_cannot_be_read_are_named),
		cmocka_unit_test(options_that_cannot_be_are_refused),
		cmocka_unit_test(counts_page_faults_of_this_thread),
		cmocka_unit_test(leaves_no_descriptor_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
