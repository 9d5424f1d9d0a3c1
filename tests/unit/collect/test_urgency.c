#include "collect/urgency.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "symbol/helper_process.h"
#include "support/skip.h"

#define RIVALS		 4
#define LONGEST_NS	 UINT64_C(20000000000)
#define PATIENCE_NS	 UINT64_C(20000000)
#define LONGEST_RAISE_NS UINT64_C(2000000000)

struct contest {
	struct urgency urgency;
	pid_t rivals[RIVALS]; /* 0: none yet */
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct contest));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	struct contest *contest = *state;
	for (int i = 0; i < RIVALS; i++) {
		if (contest->rivals[i] <= 0)
			continue;
		kill(contest->rivals[i], SIGKILL);
		waitpid(contest->rivals[i], NULL, 0);
	}
	free(contest);
	return 0;
}

static bool is_raised(pid_t pid)
{
	return (sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static void need_right_to_raise(void)
{
	struct haste_usual usual = { 0 };
	if (!haste_raise(0, &usual)) {
		SKIP("it may not go before others here");
	}
	haste_restore(0, &usual);
	if (haste_waited_ns(0) == HASTE_UNKNOWN) {
		SKIP("this kernel does not tell who waited for a CPU");
	}
}

/* One CPU for us and for those that want it too, until the test ends. */
static void share_one_cpu(struct contest *contest)
{
	cpu_set_t all, one;
	need_right_to_raise();
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < RIVALS; i++) {
		contest->rivals[i] = fork();
		if (contest->rivals[i] == 0)
			for (;;)
				continue;
		assert_true(contest->rivals[i] > 0);
	}
}

/* For longer than one bears, while `looked_at` is looked at, or nothing. */
static void be_kept_waiting(struct urgency *looked_at)
{
	uint64_t before_ns = haste_waited_ns(0);
	uint64_t begin_ns = clock_monotonic_ns();
	while (haste_waited_ns(0) - before_ns < 2 * PATIENCE_NS &&
	       clock_monotonic_ns() - begin_ns < LONGEST_NS)
		if (looked_at)
			urgency_look(looked_at, NULL);
}

/* Beside those that want the one CPU too. Returns when that was. */
static uint64_t wait_until_raised(struct contest *contest)
{
	share_one_cpu(contest);
	uint64_t begin_ns = clock_monotonic_ns();
	urgency_begin(&contest->urgency, NULL);
	while (!is_raised(0) && clock_monotonic_ns() - begin_ns < LONGEST_NS)
		urgency_look(&contest->urgency, NULL);
	assert_true(is_raised(0));
	return clock_monotonic_ns();
}

static void who_is_kept_waiting_goes_before_others_for_a_while(void **state)
{
	struct contest *contest = *state;
	struct urgency *urgency = &contest->urgency;
	uint64_t raised_ns = wait_until_raised(contest);
	pid_t child = fork();
	if (child == 0)
		_exit(is_raised(0));
	int status = -1;
	waitpid(child, &status, 0);
	/* Not for longer than that, however long it lasts. */
	while (is_raised(0) && clock_monotonic_ns() - raised_ns < LONGEST_NS)
		urgency_look(urgency, NULL);
	uint64_t lowered_ns = clock_monotonic_ns();
	for (int i = 0; i < 1000; i++)
		urgency_look(urgency, NULL);
	assert_false(is_raised(0));
	urgency_end(urgency, NULL);
	assert_int_equal(status, 0); /* nothing that it forks meanwhile */
	assert_true(lowered_ns - raised_ns >= LONGEST_RAISE_NS / 2);
	assert_true(lowered_ns - raised_ns < LONGEST_NS);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

/* What computes for long without a look at the clock. */
static void nobody_goes_before_others_for_longer_though_nobody_looks(void **state)
{
	struct contest *contest = *state;
	struct urgency *urgency = &contest->urgency;
	uint64_t raised_ns = wait_until_raised(contest);
	while (clock_monotonic_ns() - raised_ns < LONGEST_RAISE_NS / 2)
		continue;
	assert_true(is_raised(0));
	while (clock_monotonic_ns() - raised_ns < LONGEST_RAISE_NS + LONGEST_RAISE_NS / 10)
		continue;
	assert_false(is_raised(0));
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	urgency_end(urgency, NULL);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	/* A SIGALRM is nobody's afterwards. */
	struct sigaction now;
	assert_int_equal(sigaction(SIGALRM, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_DFL);
}

struct in_thread {
	struct contest *contest;
	pid_t first; /* the process's other thread, which is idle */
	bool raised, lowered, first_raised;
	int left; /* its policy at the end */
};

static void *go_before_others_in_a_thread(void *context)
{
	struct in_thread *seen = context;
	struct urgency *urgency = &seen->contest->urgency;
	uint64_t begin_ns = clock_monotonic_ns();
	urgency_begin(urgency, NULL);
	while (!is_raised(0) && clock_monotonic_ns() - begin_ns < LONGEST_NS)
		urgency_look(urgency, NULL);
	uint64_t raised_ns = clock_monotonic_ns();
	seen->raised = is_raised(0);
	seen->first_raised = is_raised(seen->first);
	while (clock_monotonic_ns() - raised_ns < LONGEST_RAISE_NS + LONGEST_RAISE_NS / 10)
		continue;
	seen->lowered = !is_raised(0);
	urgency_end(urgency, NULL);
	seen->left = sched_getscheduler(0);
	return NULL;
}

/* That takes no signals otherwise, as those that serve another one. Its own waits count, and its
 * own priority is raised and lowered: the first thread waits for nothing but its end. */
static void a_thread_goes_before_others_by_itself(void **state)
{
	struct in_thread seen = { .contest = *state, .first = getpid() };
	pthread_t thread;
	sigset_t all, before;
	share_one_cpu(*state);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int ret = pthread_create(&thread, NULL, go_before_others_in_a_thread, &seen);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(ret, 0);
	pthread_join(thread, NULL);
	assert_true(seen.raised);
	assert_false(seen.first_raised);
	assert_true(seen.lowered);
	assert_int_equal(seen.left, SCHED_OTHER);
}

/* The last look at what was waited may have been just before it begins. */
static void what_was_waited_before_the_last_look_counts_too(void **state)
{
	struct contest *contest = *state;
	struct urgency *urgency = &contest->urgency;
	share_one_cpu(contest);
	urgency_watch(urgency);
	uint64_t watched_ns = clock_monotonic_ns();
	be_kept_waiting(NULL);
	while (clock_monotonic_ns() - watched_ns < 600000000)
		continue;
	urgency_watch(urgency);
	urgency_begin(urgency, NULL);
	assert_true(is_raised(0));
	urgency_end(urgency, NULL);
	assert_false(is_raised(0));
}

static void who_waited_little_changes_nothing(void **state)
{
	struct contest *alone = *state;
	struct urgency *urgency = &alone->urgency;
	need_right_to_raise();
	uint64_t before_ns = haste_waited_ns(0);
	urgency_begin(urgency, NULL);
	uint64_t begin_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - begin_ns < 2 * PATIENCE_NS)
		urgency_look(urgency, NULL);
	bool raised = is_raised(0);
	urgency_end(urgency, NULL);
	if (haste_waited_ns(0) - before_ns < PATIENCE_NS)
		assert_false(raised);
	assert_false(is_raised(0));
}

static void who_was_kept_waiting_before_need_not_wait_again(void **state)
{
	struct contest *contest = *state;
	share_one_cpu(contest);
	urgency_watch(&contest->urgency);
	be_kept_waiting(NULL);
	urgency_begin(&contest->urgency, NULL);
	assert_true(is_raised(0));
	urgency_end(&contest->urgency, NULL);
	assert_false(is_raised(0));
}

static void nothing_is_urgent_before_it_begins_and_when_it_ended(void **state)
{
	struct contest *contest = *state;
	share_one_cpu(contest);
	urgency_begin(&contest->urgency, NULL);
	urgency_end(&contest->urgency, NULL);
	be_kept_waiting(&contest->urgency);
	assert_false(is_raised(0));
}

static void what_it_was_before_it_is_again(void **state)
{
	(void)state;
	struct sched_param none = { 0 }, first = { .sched_priority = 3 };
	struct haste_usual usual = { 0 };
	need_right_to_raise();
	assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
	assert_true(haste_raise(0, &usual));
	assert_true(is_raised(0));
	assert_true(haste_raise(0, &usual)); /* once is enough */
	haste_restore(0, &usual);
	assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
	/* Who goes before others already keeps that. */
	assert_int_equal(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	assert_false(haste_raise(0, &usual));
	haste_restore(0, &usual);
	int policy = sched_getscheduler(0);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	assert_int_equal(policy, SCHED_FIFO);
}

static void wait_for_end(int socket)
{
	char byte;
	while (read(socket, &byte, 1) > 0)
		continue;
}

static void expect_scheduled(pid_t pid, int policy, int nice)
{
	assert_int_equal(sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK, policy);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)pid), nice);
}

/* Whatever value somebody chose for the recorder holds for those that read for it, too. */
static void a_helper_that_starts_meanwhile_is_as_we_usually_are(void **state)
{
	(void)state;
	static const int nices[] = { HASTE_NICE, 0, 19 };
	struct sched_param none = { 0 };
	need_right_to_raise();
	for (size_t i = 0; i < 3; i++) {
		struct haste_usual usual = { 0 };
		struct helper helper = { .run = wait_for_end };
		assert_int_equal(setpriority(PRIO_PROCESS, 0, nices[i]), 0);
		assert_int_equal(sched_setscheduler(0, SCHED_BATCH, &none), 0);
		assert_true(haste_raise(0, &usual));
		assert_int_equal(helper_start(&helper, NULL), 0);
		expect_scheduled(helper.pid, SCHED_BATCH, nices[i]);
		/* One that goes before others meanwhile goes back to that. */
		helper_set_hasty(&helper, HELPER_HASTY);
		expect_scheduled(helper.pid, SCHED_RR, nices[i]);
		helper_kill(&helper);
		assert_int_equal(helper_start(&helper, NULL), 0);
		expect_scheduled(helper.pid, SCHED_RR, nices[i]);
		helper_set_hasty(&helper, HELPER_AS_USUAL);
		expect_scheduled(helper.pid, SCHED_BATCH, nices[i]);
		haste_restore(0, &usual);
		helper_kill(&helper);
		/* Nothing is left of that later. */
		assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
		assert_int_equal(helper_start(&helper, NULL), 0);
		expect_scheduled(helper.pid, SCHED_OTHER, nices[i]);
		helper_kill(&helper);
	}
	assert_int_equal(setpriority(PRIO_PROCESS, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_waited_little_changes_nothing, set_up,
						tear_down),
		cmocka_unit_test(what_it_was_before_it_is_again),
		cmocka_unit_test(a_helper_that_starts_meanwhile_is_as_we_usually_are),
		cmocka_unit_test_setup_teardown(who_is_kept_waiting_goes_before_others_for_a_while,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_was_kept_waiting_before_need_not_wait_again,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_was_waited_before_the_last_look_counts_too,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			nobody_goes_before_others_for_longer_though_nobody_looks, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_thread_goes_before_others_by_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			nothing_is_urgent_before_it_begins_and_when_it_ended, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("collect urgency", tests, NULL, NULL);
}
