#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count/count_set.h"
#include "count/moment.h"
#include "count/own_process.h"
#include "counting_machine.h"
#include "machine/event.h"
#include "machine/pmu.h"

static int status_of_child(int (*act)(void *context), void *context)
{
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		_exit(act(context));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int is_this(void *own)
{
	return own_process_is_this(own);
}

static void a_child_is_another_process(void **state)
{
	(void)state;
	struct own_process own;
	own_process_init(&own);
	assert_true(own_process_is_this(&own));
	assert_int_equal(status_of_child(is_this, &own), 0);
	assert_true(own_process_is_this(&own));
	own_process_release(&own);
}

/* As on kernels that cannot empty the mark. */
static void without_a_mark_the_kernel_is_asked(void **state)
{
	(void)state;
	struct own_process own = { .mark = NULL, .pid = getpid() };
	assert_true(own_process_is_this(&own));
	assert_int_equal(status_of_child(is_this, &own), 0);
	own_process_release(&own);
}

static int read_in_child(void *context)
{
	struct count_set *set = context;
	struct count_moment moment;
	size_t reads = replayed.reads, counter_reads = replayed.counter_reads;
	if (count_set_is_live(set, 0))
		return 1;
	if (count_set_moments(set, &moment) != -ECHILD || moment.known)
		return 2;
	return replayed.reads == reads && replayed.counter_reads == counter_reads ? 0 : 3;
}

static void a_child_reads_nothing_of_its_parents_counters(void **state)
{
	(void)state;
	struct tree tree;
	struct pmu_list pmus = { 0 };
	struct event_list events = { 0 };
	struct count_set *set = NULL;
	struct count_moment moment;
	counting_machine(&tree, counting_intel);
	replayed.has_rdpmc = true;
	assert_int_equal(pmu_list_read(&tree.root, &pmus, NULL), 0);
	assert_int_equal(event_list_parse(&events, &pmus, NULL, "cycles", NULL), 0);
	struct count_target own = { 0, -1 };
	struct count_options options = { .targets = &own, .target_count = 1, .live = true };
	assert_int_equal(
		count_set_open(&events, &pmus, &options, &count_kernel_replayed, &set, NULL), 0);
	replayed_schedule(replayed_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), 3, 1000);

	size_t counter_reads = replayed.counter_reads;
	assert_true(count_set_is_live(set, 0));
	assert_int_equal(count_set_moments(set, &moment), 0);
	assert_int_equal(replayed.counter_reads, counter_reads + 1); /* the parent reads it */
	assert_int_equal(status_of_child(read_in_child, set), 0);

	count_set_close(set);
	event_list_release(&events);
	pmu_list_release(&pmus);
	counting_machine_end(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_another_process),
		cmocka_unit_test(without_a_mark_the_kernel_is_asked),
		cmocka_unit_test(a_child_reads_nothing_of_its_parents_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
