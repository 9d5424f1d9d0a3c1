/* What is counted for events that cannot be counted as they were written. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "counter_scene.h"

static int no_hardware(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->type == PERF_TYPE_SOFTWARE ? 0 : -ENOENT;
}

static void without_a_pmu_time_stands_for_cycles_and_that_is_said(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.judge = no_hardware;
	assert_int_equal(
		open_scene(&scene, counting_no_pmu, "cycles,instructions,page-faults", NULL), 0);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)->count = 5000;
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 3), 0);
	assert_true(scene.values[0].value == 5000);
	assert_int_equal(scene.values[0].flags, CULPRIT_SUBSTITUTE);
	assert_true(isnan(scene.values[1].value));
	assert_int_equal(scene.values[1].flags, CULPRIT_ABSENT);
	assert_true(scene.values[2].value == 0);
	assert_int_equal(culprit_counters_event(scene.counters, 0, &scene.event), 0);
	assert_string_equal(scene.event.name, "cycles");
	assert_string_equal(scene.event.counted, "task-clock");
	assert_string_equal(scene.event.unit, "ns");
	assert_string_equal(scene.event.why, "this machine has no hardware counters (no PMU)");
	assert_int_equal(culprit_counters_event(scene.counters, 1, &scene.event), 0);
	assert_null(scene.event.counted);
	assert_int_equal(culprit_counters_event(scene.counters, 2, &scene.event), 0);
	assert_null(scene.event.why);
	assert_int_equal(culprit_counters_event(scene.counters, 3, &scene.event), -EINVAL);
	close_scene(&scene);
}

static void strictness_refuses_what_cannot_be_counted(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_options options = { .flags = CULPRIT_STRICT };
	replayed_begin();
	replayed.judge = no_hardware;
	assert_int_equal(open_scene(&scene, counting_no_pmu, "page-faults,cycles", &options),
			 -ENOENT);
	assert_string_equal(scene.error.text, "cannot count 'cycles': this machine has no hardware "
					      "counters (no PMU)");
	assert_int_equal(scene.error.code, -ENOENT);
	close_scene(&scene);
}

static void nothing_that_counts_is_an_error(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.judge = no_hardware;
	assert_int_equal(open_scene(&scene, counting_no_pmu, "instructions,branches", NULL),
			 -ENOENT);
	assert_non_null(strstr(scene.error.text, "cannot count 'instructions'"));
	close_scene(&scene);
}

static int forbidden(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)pid, (void)cpu;
	return -EACCES;
}

static int too_many_files(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)pid, (void)cpu;
	return -EMFILE;
}

static int held(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->type == PERF_TYPE_SOFTWARE ? 0 : -EBUSY;
}

static void refusals_are_errors_with_their_reason(void **state)
{
	(void)state;
	static const struct {
		int (*judge)(const struct perf_event_attr *, pid_t, int);
		int code;
		const char *reason;
	} cases[] = {
		{ forbidden, -EACCES, "permission denied" },
		{ too_many_files, -EMFILE, "Too many open files" },
		{ held, -ENOENT, "held by somebody else" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene scene;
		replayed_begin();
		replayed.judge = cases[i].judge;
		assert_int_equal(open_scene(&scene, counting_intel, "r1", NULL), cases[i].code);
		assert_non_null(strstr(scene.error.text, cases[i].reason));
		close_scene(&scene);
	}
}

static void what_its_group_has_no_room_for_is_absent_with_the_reason(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.pmu_counters = 2;
	replayed.refuses_large_groups = true;
	assert_int_equal(open_scene(&scene, counting_intel, "{r1,r2,r3}", NULL), 0);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 3), 0);
	assert_int_equal(scene.values[1].flags, 0);
	assert_int_equal(scene.values[2].flags, CULPRIT_ABSENT);
	assert_int_equal(culprit_counters_event(scene.counters, 1, &scene.event), 0);
	assert_null(scene.event.why);
	assert_int_equal(culprit_counters_event(scene.counters, 2, &scene.event), 0);
	assert_null(scene.event.counted);
	assert_string_equal(scene.event.why, "the PMU has no room for it in its group");
	close_scene(&scene);
	for (unsigned i = 0; i < 2; i++) {
		struct culprit_options options = { .flags = i ? CULPRIT_STRICT
							      : CULPRIT_NEVER_MULTIPLEX };
		replayed_begin();
		replayed.pmu_counters = 2;
		replayed.refuses_large_groups = true;
		assert_int_equal(open_scene(&scene, counting_intel, "{r1,r2,r3}", &options),
				 -EBUSY);
		assert_string_equal(scene.error.text,
				    "cannot count 'r3': the PMU has no room for it in its group");
		close_scene(&scene);
	}
}

static int refuse_the_kernels_side(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static void the_kernel_is_left_out_for_want_of_a_right_and_that_is_said(void **state)
{
	(void)state;
	struct scene scene;
	static const char events[] = "cycles,cycles:u,context-switches,task-clock,cpu/event=1/";
	static const char *const counted[] = { "cycles:u", "cycles:u", NULL, "task-clock",
					       "cpu/event=1/u" };
	static const uint32_t flags[] = { CULPRIT_SUBSTITUTE, 0, CULPRIT_ABSENT, 0,
					  CULPRIT_SUBSTITUTE };
	replayed_begin();
	replayed.judge = refuse_the_kernels_side;
	assert_int_equal(open_scene(&scene, counting_intel, events, NULL), 0);
	assert_int_equal(culprit_counters_start(scene.counters), 0);
	assert_int_equal(culprit_counters_stop(scene.counters), 0);
	assert_int_equal(culprit_counters_values(scene.counters, scene.values, 5), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(scene.values[i].flags, flags[i]);
		assert_int_equal(culprit_counters_event(scene.counters, i, &scene.event), 0);
		assert_int_equal(!scene.event.counted, !counted[i]);
		if (counted[i])
			assert_string_equal(scene.event.counted, counted[i]);
		assert_int_equal(!scene.event.why, !flags[i]);
		if (flags[i])
			assert_non_null(strstr(scene.event.why, "permission denied"));
	}
	close_scene(&scene);
	struct culprit_options strict = { .flags = CULPRIT_STRICT };
	replayed_begin();
	replayed.judge = refuse_the_kernels_side;
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &strict), -EACCES);
	close_scene(&scene);
}

/* They happen in the kernel, whatever they are asked for. */
static void switches_are_counted_where_user_code_alone_is(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_options options = { .flags = CULPRIT_USER_ONLY };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "cycles,context-switches", &options),
			 0);
	assert_true(hardware(PERF_COUNT_HW_CPU_CYCLES)->attr.exclude_kernel);
	assert_int_equal(flags_of_measuring(&scene), 0); /* it was asked for */
	struct replayed_event *switches =
		replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	assert_false(switches->attr.exclude_kernel);
	close_scene(&scene);
}

/* As with perf_event_paranoid of 2: of user code switches would be counted as 0. */
static void switches_are_absent_where_user_code_alone_may_be_counted(void **state)
{
	(void)state;
	struct scene scene;
	static const char events[] = "context-switches,context-switches:u,task-clock:u";
	/* which is about room, not rights */
	struct culprit_options options = { .flags = CULPRIT_NEVER_MULTIPLEX };
	replayed_begin();
	replayed.judge = refuse_the_kernels_side;
	assert_int_equal(open_scene(&scene, counting_intel, events, &options), 0);
	assert_null(replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES));
	assert_int_equal(culprit_counters_event(scene.counters, 0, &scene.event), 0);
	assert_null(scene.event.counted);
	assert_non_null(strstr(scene.event.why, "permission denied"));
	assert_int_equal(culprit_counters_event(scene.counters, 1, &scene.event), 0);
	assert_null(scene.event.counted);
	assert_string_equal(scene.event.why, "it happens in the kernel, which is left out");
	assert_int_equal(culprit_counters_event(scene.counters, 2, &scene.event), 0);
	assert_string_equal(scene.event.counted, "task-clock:u");
	close_scene(&scene);
}

static void pinned_events_share_a_group(void **state)
{
	(void)state;
	struct scene scene;
	struct culprit_options options = { .flags = CULPRIT_PINNED | CULPRIT_NEVER_MULTIPLEX };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "r1,r2", &options), 0);
	struct replayed_event *first = replayed_find(PERF_TYPE_RAW, 1),
			      *second = replayed_find(PERF_TYPE_RAW, 2);
	assert_true(first->attr.pinned && !second->attr.pinned);
	assert_int_equal(first->leader, second->leader);
	close_scene(&scene);
}

static int ended;

static int refuse_what_ended(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)cpu;
	return pid == ended ? -ESRCH : 0;
}

/* Reads from the descriptor. */
static void *wait_for_end(void *descriptor)
{
	char nothing;
	return read(*(const int *)descriptor, &nothing, 1) > 0 ? descriptor : NULL;
}

/* As where the first thread has called pthread_exit(3). */
static void a_process_whose_first_thread_has_ended_is_counted(void **state)
{
	(void)state;
	struct scene scene;
	int ending[2];
	struct culprit_options options = { .subject = CULPRIT_THIS_PROCESS };
	pthread_t thread;
	assert_int_equal(pipe(ending), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &ending[0]), 0);
	ended = getpid();
	replayed_begin();
	replayed.judge = refuse_what_ended;
	assert_int_equal(open_scene(&scene, counting_intel, "cycles", &options), 0);
	assert_true(hardware(PERF_COUNT_HW_CPU_CYCLES)->pid != ended);
	close_scene(&scene);
	close(ending[1]);
	pthread_join(thread, NULL);
	close(ending[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_pmu_time_stands_for_cycles_and_that_is_said),
		cmocka_unit_test(strictness_refuses_what_cannot_be_counted),
		cmocka_unit_test(nothing_that_counts_is_an_error),
		cmocka_unit_test(refusals_are_errors_with_their_reason),
		cmocka_unit_test(what_its_group_has_no_room_for_is_absent_with_the_reason),
		cmocka_unit_test(the_kernel_is_left_out_for_want_of_a_right_and_that_is_said),
		cmocka_unit_test(switches_are_counted_where_user_code_alone_is),
		cmocka_unit_test(switches_are_absent_where_user_code_alone_may_be_counted),
		cmocka_unit_test(pinned_events_share_a_group),
		cmocka_unit_test(a_process_whose_first_thread_has_ended_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
