#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "count/count_set.h"
#include "counting_machine.h"
#include "machine/event.h"
#include "machine/pmu.h"

struct scene {
	struct tree tree;
	struct pmu_list pmus;
	struct event_list events;
	struct count_set *set;
	struct error err;
};

static int open_scene(struct scene *scene, const struct tree_file *machine, const char *events,
		      const struct count_options *options)
{
	static const struct count_target own = { 0, -1 };
	*scene = (struct scene){ 0 };
	tree_make(&scene->tree, machine);
	assert_int_equal(pmu_list_read(&scene->tree.root, &scene->pmus, NULL), 0);
	assert_int_equal(event_list_parse(&scene->events, &scene->pmus, NULL, events, NULL), 0);
	struct count_options asked = options ? *options : (struct count_options){ 0 };
	if (!asked.targets) {
		asked.targets = &own;
		asked.target_count = 1;
	}
	return count_set_open(&scene->events, &scene->pmus, &asked, &count_kernel_replayed,
			      &scene->set, &scene->err);
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

static void single_events_share_a_group_while_they_fit(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.pmu_counters = 3;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,r2,r3,r4,r5,r6,r7", NULL), 0);
	static const size_t expected[] = { 0, 0, 0, 1, 1, 1, 2 };
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(count_set_group(scene.set, i), expected[i]);
	close_scene(&scene);
}

static void groups_that_were_written_stay(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.pmu_counters = 3;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,{r2,r3},r4", NULL), 0);
	static const size_t expected[] = { 0, 1, 1, 0 };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(count_set_group(scene.set, i), expected[i]);
	close_scene(&scene);
}

static int refuse_r2(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->type == PERF_TYPE_RAW && attr->config == 2 ? -ENOENT : 0;
}

static void what_does_not_open_keeps_nobody_from_counting(void **state)
{
	(void)state;
	struct scene scene;
	struct count_reading readings[4];
	replayed_begin();
	replayed.judge = refuse_r2;
	assert_int_equal(open_scene(&scene, counting_intel, "{r2,r1},r2,r3", NULL), 0);
	replayed_find(PERF_TYPE_RAW, 1)->count = 11;
	replayed_find(PERF_TYPE_RAW, 3)->count = 33;
	assert_int_equal(count_set_read(scene.set, 0, readings), 0);
	assert_int_equal(readings[0].state, COUNT_NOT_SUPPORTED);
	assert_int_equal(readings[0].code, -ENOENT);
	assert_int_equal(readings[1].count, 11);
	assert_int_equal(readings[2].state, COUNT_NOT_SUPPORTED);
	assert_int_equal(readings[3].count, 33);
	close_scene(&scene);
}

static void refuses_what_would_be_multiplexed_by_name(void **state)
{
	(void)state;
	struct scene scene;
	struct count_options options = { .never_multiplex = true };
	replayed_begin();
	replayed.pmu_counters = 2;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,page-faults,r2,r3", &options),
			 -EBUSY);
	assert_non_null(strstr(scene.err.text, "'r3' does not fit the PMU"));
	close_scene(&scene);

	replayed_begin();
	replayed.pmu_counters = 3;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,page-faults,{r2,r3}", &options), 0);
	close_scene(&scene);
}

static int refuse_the_kernels(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid, (void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static void leaves_the_kernel_out_where_it_may_not_be_counted(void **state)
{
	(void)state;
	struct scene scene;
	replayed_begin();
	replayed.judge = refuse_the_kernels;
	assert_int_equal(open_scene(&scene, counting_intel, "cycles,cycles:u,cycles:k", NULL), 0);
	assert_true(count_set_is_user_only(scene.set, 0));
	assert_false(count_set_is_user_only(scene.set, 1));
	struct count_reading readings[3];
	assert_int_equal(count_set_read(scene.set, 0, readings), 0);
	assert_int_equal(readings[0].state, COUNT_OPEN);
	/* user code is not what was asked for here */
	assert_int_equal(readings[2].state, COUNT_NOT_SUPPORTED);
	assert_int_equal(readings[2].code, -EACCES);
	close_scene(&scene);
}

static void does_not_count_switches_without_the_kernel_in_which_they_happen(void **state)
{
	(void)state;
	struct scene scene;
	struct count_options options = { .user_only = true };
	struct count_reading readings[3];
	const char *events = "context-switches,cpu-migrations:u,page-faults";
	replayed_begin();
	replayed.judge = refuse_the_kernels;
	assert_int_equal(open_scene(&scene, counting_intel, events, NULL), 0);
	assert_int_equal(count_set_read(scene.set, 0, readings), 0);
	assert_int_equal(readings[0].state, COUNT_NOT_SUPPORTED);
	assert_int_equal(readings[0].code, -EACCES);
	assert_int_equal(readings[1].state, COUNT_NOT_SUPPORTED);
	assert_int_equal(readings[1].code, -EOPNOTSUPP);
	assert_int_equal(readings[2].state, COUNT_OPEN);
	close_scene(&scene);
	/* with the right to, they are counted whole, also where user code alone is wanted */
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, events, &options), 0);
	assert_int_equal(count_set_read(scene.set, 0, readings), 0);
	assert_int_equal(readings[0].state, COUNT_OPEN);
	assert_false(count_set_is_user_only(scene.set, 0));
	assert_false(count_set_is_user_only(scene.set, 2)); /* as asked for */
	assert_true(
		replayed_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)->attr.exclude_kernel);
	close_scene(&scene);
}

static void names_the_event_for_which_there_are_too_few_files(void **state)
{
	(void)state;
	struct scene scene;
	struct count_target targets[40];
	for (int i = 0; i < 40; i++)
		targets[i] = (struct count_target){ 100 + i, -1 };
	struct count_options options = { .targets = targets, .target_count = 40 };
	replayed_begin();
	replayed.most_open = 50;
	assert_int_equal(open_scene(&scene, counting_intel, "r1,page-faults", &options), -EMFILE);
	assert_non_null(strstr(scene.err.text, "target 26 of 40"));
	assert_non_null(strstr(scene.err.text, "ulimit -n"));
	close_scene(&scene);
}

static int one_has_ended(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)cpu;
	return pid == 102 ? -ESRCH : 0;
}

static void sums_targets_without_those_that_ended(void **state)
{
	(void)state;
	struct scene scene;
	struct count_target targets[] = { { 101, -1 }, { 102, -1 }, { 103, -1 } };
	struct count_options options = { .targets = targets, .target_count = 3 };
	struct count_reading sums[1], scratch[1];
	replayed_begin();
	replayed.judge = one_has_ended;
	assert_int_equal(open_scene(&scene, counting_intel, "r1", &options), 0);
	for (size_t i = 0; i < replayed.count; i++) {
		replayed.events[i].count = 5;
		replayed.events[i].enabled_ns = replayed.events[i].running_ns = 100;
	}
	assert_int_equal(count_set_read_all(scene.set, sums, scratch), 0);
	assert_int_equal(sums[0].count, 10);
	assert_int_equal(sums[0].enabled_ns, 200);
	assert_int_equal(sums[0].state, COUNT_OPEN);
	close_scene(&scene);
}

static int all_have_ended(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)attr, (void)cpu;
	return pid ? -ESRCH : 0;
}

static void says_when_all_targets_have_ended(void **state)
{
	(void)state;
	struct scene scene;
	struct count_target target = { 101, -1 };
	struct count_options options = { .targets = &target, .target_count = 1 };
	replayed_begin();
	replayed.judge = all_have_ended;
	assert_int_equal(open_scene(&scene, counting_intel, "r1", &options), -ESRCH);
	close_scene(&scene);
}

static void a_core_type_is_opened_on_its_cpus_alone(void **state)
{
	(void)state;
	struct scene scene;
	struct count_target targets[] = { { -1, 0 }, { -1, 1 } };
	struct count_options options = { .targets = targets, .target_count = 2 };
	static const struct tree_file machine[] = {
		{ COUNTING_PMU "cpu_core/type", "4" },	{ COUNTING_PMU "cpu_core/cpus", "0" },
		{ COUNTING_PMU "cpu_atom/type", "10" }, { COUNTING_PMU "cpu_atom/cpus", "1" },
		{ COUNTING_PMU "software/type", "1" },	{ NULL, NULL },
	};
	struct count_reading readings[2];
	replayed_begin();
	assert_int_equal(open_scene(&scene, machine, "cycles", &options), 0);
	assert_int_equal(count_set_events(scene.set), 2);
	for (size_t target = 0; target < 2; target++) {
		assert_int_equal(count_set_read(scene.set, target, readings), 0);
		for (size_t event = 0; event < 2; event++) {
			bool there = (strcmp(scene.events.events[event].core_type, "cpu_core") ==
				      0) == (target == 0);
			assert_int_equal(readings[event].state,
					 there ? COUNT_OPEN : COUNT_ELSEWHERE);
		}
	}
	close_scene(&scene);
}

static void switches_all_groups_of_all_targets(void **state)
{
	(void)state;
	struct scene scene;
	struct count_target targets[] = { { 101, -1 }, { 103, -1 } };
	struct count_options options = { .targets = targets, .target_count = 2, .disabled = true };
	replayed_begin();
	assert_int_equal(open_scene(&scene, counting_intel, "r1,page-faults,{r2,r3}", &options), 0);
	size_t leaders = 0;
	for (size_t i = 0; i < replayed.count; i++)
		if (replayed.events[i].open && replayed.events[i].leader == (int)i) {
			assert_false(replayed.events[i].enabled);
			leaders++;
		}
	assert_int_equal(count_set_enable(scene.set), 0);
	assert_int_equal(replayed.controls, leaders);
	for (size_t i = 0; i < replayed.count; i++)
		assert_true(!replayed.events[i].open || replayed.events[i].enabled);
	assert_int_equal(count_set_disable(scene.set), 0);
	for (size_t i = 0; i < replayed.count; i++)
		assert_false(replayed.events[i].open && replayed.events[i].enabled);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_events_share_a_group_while_they_fit),
		cmocka_unit_test(groups_that_were_written_stay),
		cmocka_unit_test(what_does_not_open_keeps_nobody_from_counting),
		cmocka_unit_test(refuses_what_would_be_multiplexed_by_name),
		cmocka_unit_test(leaves_the_kernel_out_where_it_may_not_be_counted),
		cmocka_unit_test(does_not_count_switches_without_the_kernel_in_which_they_happen),
		cmocka_unit_test(names_the_event_for_which_there_are_too_few_files),
		cmocka_unit_test(sums_targets_without_those_that_ended),
		cmocka_unit_test(says_when_all_targets_have_ended),
		cmocka_unit_test(a_core_type_is_opened_on_its_cpus_alone),
		cmocka_unit_test(switches_all_groups_of_all_targets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
