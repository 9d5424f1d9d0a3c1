/* What culprit/region.h promises of signal handlers, exec and fork. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <culprit/region.h>

#include "process_support.h"

static volatile sig_atomic_t handled;

static struct culprit_regions *joined(const char *events)
{
	struct culprit_regions *regions = NULL;
	struct culprit_error error;
	if (culprit_regions_open(events, NULL, &regions, &error) ||
	    culprit_regions_join(regions, &error))
		fail_msg("%s", error.text);
	return regions;
}

static void leave_and_close(struct culprit_regions *regions)
{
	culprit_regions_leave(regions);
	culprit_regions_close(regions);
}

/* How often the region was measured, in all threads together. */
static uint64_t times_of(const struct culprit_regions *regions, const char *name)
{
	for (size_t i = 0; i < culprit_regions_results(regions); i++) {
		struct culprit_region_result result;
		assert_int_equal(culprit_regions_result(regions, i, &result), 0);
		if (result.thread == 0 && strcmp(result.name, name) == 0)
			return result.time.count;
	}
	return 0;
}

static uint64_t mismatches_of(const struct culprit_regions *regions)
{
	uint64_t mismatched = 0;
	for (size_t i = 0; i < culprit_regions_results(regions); i++) {
		struct culprit_region_result result;
		assert_int_equal(culprit_regions_result(regions, i, &result), 0);
		mismatched += result.mismatched;
	}
	return mismatched;
}

static struct culprit_region *of_signals;

static void mark_in_handler(int signal)
{
	(void)signal;
	culprit_region_begin(of_signals);
	culprit_region_end(of_signals);
	handled = handled + 1;
}

/* Each signal comes between begin and end of another region, where the thread is in no call. */
static void regions_nest_in_handlers(void **state)
{
	(void)state;
	struct culprit_regions *regions = joined("page-faults");
	struct culprit_region *outer = culprit_region_named(regions, "outer");
	of_signals = culprit_region_named(regions, "handler");
	handled = 0;
	signal(SIGUSR1, mark_in_handler);
	for (int i = 0; i < 50; i++) {
		culprit_region_begin(outer);
		raise(SIGUSR1);
		culprit_region_end(outer);
	}
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(handled, 50);
	assert_int_equal(times_of(regions, "outer"), 50);
	assert_int_equal(times_of(regions, "handler"), 50);
	assert_int_equal(mismatches_of(regions), 0);
	leave_and_close(regions);
}

static void what_is_executed_inherits_no_descriptor(void **state)
{
	(void)state;
	int inherited = open_descriptors(true), all = open_descriptors(false);
	struct culprit_regions *regions = joined("page-faults,task-clock");
	assert_true(open_descriptors(false) > all);
	assert_int_equal(open_descriptors(true), inherited);
	leave_and_close(regions);
	assert_int_equal(open_descriptors(false), all);
}

static void mark(struct culprit_region *region, int times)
{
	for (int i = 0; i < times; i++) {
		culprit_region_begin(region);
		culprit_region_end(region);
	}
}

/* The child has regions that its parent joined: it has nothing in them until it joins itself, or
   opens its own. */
static int use_inherited(struct culprit_regions *inherited, struct culprit_region *region)
{
	mark(region, 7);
	if (times_of(inherited, "piece") != 0)
		return 1;
	if (culprit_regions_join(inherited, NULL))
		return 2;
	mark(region, 4);
	if (times_of(inherited, "piece") != 4)
		return 3;
	leave_and_close(inherited);

	struct culprit_regions *own = NULL;
	if (culprit_regions_open("page-faults", NULL, &own, NULL) ||
	    culprit_regions_join(own, NULL))
		return 4;
	mark(culprit_region_named(own, "piece"), 5);
	if (times_of(own, "piece") != 5)
		return 5;
	leave_and_close(own);
	return 0;
}

static void a_childs_regions_count_nothing_until_it_joins(void **state)
{
	(void)state;
	struct culprit_regions *regions = joined("page-faults");
	struct culprit_region *region = culprit_region_named(regions, "piece");
	mark(region, 3);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's */
		_exit(use_inherited(regions, region));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	mark(region, 2);
	assert_int_equal(times_of(regions, "piece"), 5);
	leave_and_close(regions);
}

int main(void)
{
	struct culprit_regions *regions = NULL;
	struct culprit_error error;
	int status = culprit_regions_open("page-faults", NULL, &regions, &error);
	if (status == 0)
		status = culprit_regions_join(regions, &error);
	culprit_regions_close(regions);
	if (status == -EACCES || status == -EPERM || status == -ENOSYS) {
		printf("%s\n", error.text);
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_nest_in_handlers),
		cmocka_unit_test(what_is_executed_inherits_no_descriptor),
		cmocka_unit_test(a_childs_regions_count_nothing_until_it_joins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
