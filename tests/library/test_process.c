/* What culprit/counter.h promises of fork, exec, threads and signal handlers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <culprit/counter.h>
#include <culprit/region.h>

#include "base/sanitizers.h"
#include "process_support.h"
#include "support/skip.h"

/* The most faults of a piece that touches `pages` new pages: those, and what else may be touched
   for the first time, or copied after fork(2). A sanitizer's own memory has faults, too. */
static double most_of(double pages)
{
	return SANITIZERS ? INFINITY : pages + 100;
}

static struct culprit_counters *opened(const char *events)
{
	struct culprit_counters *counters = NULL;
	struct culprit_error error;
	if (culprit_counters_open(events, NULL, &counters, &error))
		fail_msg("%s", error.text);
	return counters;
}

static double faults_of(struct culprit_counters *counters)
{
	struct culprit_value value;
	assert_int_equal(culprit_counters_values(counters, &value, 1), 0);
	return value.value;
}

static double faults_of_touching(struct culprit_counters *counters, size_t pages)
{
	assert_int_equal(culprit_counters_start(counters), 0);
	touch_pages(pages);
	assert_int_equal(culprit_counters_stop(counters), 0);
	return faults_of(counters);
}

/* The exit status of a child that does `act`; 128 + its signal when one killed it. */
static int status_of_child(int (*act)(void *context), void *context)
{
	pid_t child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL); /* not cmocka's */
		_exit(act(context));
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int touch_300(void *context)
{
	(void)context;
	touch_pages(300);
	return 0;
}

static void a_childs_events_are_not_counted(void **state)
{
	(void)state;
	struct culprit_counters *counters = opened("page-faults");
	double of_fork = 0;
	assert_int_equal(culprit_counters_start(counters), 0);
	assert_int_equal(status_of_child(touch_300, NULL), 0);
	assert_int_equal(culprit_counters_stop(counters), 0);
	of_fork = faults_of(counters); /* pages that were shared with the child are copied */
	assert_true(of_fork < 300 || SANITIZERS);
	culprit_counters_close(counters);
}

static void a_childs_events_are_counted_when_asked_for(void **state)
{
	(void)state;
	struct culprit_counters *counters = NULL;
	struct culprit_error error;
	struct culprit_options options = { .subject = CULPRIT_THIS_PROCESS,
					   .flags = CULPRIT_CHILDREN };
	if (culprit_counters_open("page-faults", &options, &counters, &error))
		fail_msg("%s", error.text);
	assert_int_equal(culprit_counters_start(counters), 0);
	assert_int_equal(status_of_child(touch_300, NULL), 0);
	assert_int_equal(culprit_counters_stop(counters), 0);
	assert_true(faults_of(counters) >= 300);
	culprit_counters_close(counters);
}

/* The child uses what it has inherited, as it should not; its own memory, which may stand where the
   parent's counters were mapped, has to survive that; then it opens its own. */
static int use_and_close_inherited(void *context)
{
	enum { PIECES = 64, BYTES = 8 << 10 };
	static char *pieces[PIECES];
	struct culprit_counters *inherited = context;
	for (int i = 0; i < PIECES; i++) {
		pieces[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		memset(pieces[i], i, BYTES);
	}
	culprit_counters_start(inherited);
	touch_pages(300);
	culprit_counters_stop(inherited);
	struct culprit_value value = { .value = NAN };
	if (!culprit_counters_values(inherited, &value, 1) && value.value >= 300 && !SANITIZERS)
		return 1; /* it would have counted the child */
	culprit_counters_close(inherited);
	for (int i = 0; i < PIECES; i++)
		if (pieces[i][0] != i || pieces[i][BYTES - 1] != i)
			return 2;

	struct culprit_counters *own = NULL;
	if (culprit_counters_open("page-faults", NULL, &own, NULL))
		return 3;
	culprit_counters_start(own);
	touch_pages(300);
	culprit_counters_stop(own);
	if (culprit_counters_values(own, &value, 1) ||
	    !(value.value >= 300 && value.value <= most_of(300)))
		return 4;
	culprit_counters_close(own);
	return 0;
}

static void a_child_closes_what_it_inherited_and_counts_by_its_own(void **state)
{
	(void)state;
	/* of which cycles are read in user space where that can be done */
	struct culprit_counters *counters = opened("page-faults,cycles");
	assert_int_equal(status_of_child(use_and_close_inherited, counters), 0);
	assert_true(faults_of_touching(counters, 200) >= 200); /* the parent's still count */
	culprit_counters_close(counters);
}

/* What the parent's thread counts meanwhile is not the child's. */
static int count_of_parent(void *context)
{
	struct culprit_counters *inherited = context;
	struct culprit_value value = { .value = 0 };
	if (culprit_counters_stop(inherited) != -ECHILD ||
	    culprit_counters_start(inherited) != -ECHILD ||
	    culprit_counters_values(inherited, &value, 1) != -ECHILD)
		return 1;
	return value.flags & CULPRIT_ABSENT && isnan(value.value) ? 0 : 2;
}

static void a_child_gets_no_values_of_its_parent(void **state)
{
	(void)state;
	struct culprit_counters *counters = opened("page-faults,task-clock");
	assert_int_equal(culprit_counters_start(counters), 0);
	assert_int_equal(status_of_child(count_of_parent, counters), 0);
	assert_int_equal(culprit_counters_stop(counters), 0);
	culprit_counters_close(counters);
}

static void *use_of_another(void *context)
{
	struct culprit_counters *counters = context;
	struct culprit_value value = { .value = 0 };
	bool refused = culprit_counters_start(counters) == -EPERM &&
		       culprit_counters_stop(counters) == -EPERM;
	culprit_counters_values(counters, &value, 1);
	return refused && value.flags & CULPRIT_ABSENT && isnan(value.value) ? context : NULL;
}

static void another_thread_is_refused(void **state)
{
	(void)state;
	struct culprit_counters *counters = opened("page-faults");
	pthread_t thread;
	void *refused;
	assert_int_equal(pthread_create(&thread, NULL, use_of_another, counters), 0);
	assert_int_equal(pthread_join(thread, &refused), 0);
	assert_ptr_equal(refused, counters);
	assert_true(faults_of_touching(counters, 200) >= 200);
	culprit_counters_close(counters);
}

/* As daemons do it: without standard descriptors at first, and then they are made. */
static int count_without_standard_descriptors(void *context)
{
	(void)context;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	struct culprit_counters *counters;
	if (culprit_counters_open("page-faults", NULL, &counters, NULL))
		return 1;
	culprit_counters_start(counters);
	if (open("/dev/null", O_RDWR) != STDIN_FILENO)
		return 2;
	dup2(STDIN_FILENO, STDOUT_FILENO);
	dup2(STDIN_FILENO, STDERR_FILENO);
	touch_pages(300);
	culprit_counters_stop(counters);
	return faults_of(counters) >= 300 ? 0 : 3;
}

static void counters_are_no_standard_descriptors(void **state)
{
	(void)state;
	culprit_counters_close(opened("page-faults")); /* skips where that is not allowed */
	assert_int_equal(status_of_child(count_without_standard_descriptors, NULL), 0);
}

static void options_of_later_versions_are_refused(void **state)
{
	(void)state;
	struct culprit_counters *counters;
	struct culprit_regions *regions;
	const struct culprit_options unknown[] = { { .flags = 1u << 20 },
						   { .reserved = { [7] = 1 } } };
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(culprit_counters_open("page-faults", &unknown[i], &counters, NULL),
				 -EINVAL);
		assert_int_equal(culprit_regions_open(NULL, &unknown[i], &regions, NULL), -EINVAL);
	}
	assert_int_equal(culprit_counters_open(NULL, NULL, &counters, NULL), -EINVAL);
}

static int count_inherited(void *context)
{
	(void)context;
	return open_descriptors(true);
}

static void what_is_executed_inherits_no_descriptor(void **state)
{
	(void)state;
	int before = open_descriptors(true), all = open_descriptors(false);
	struct culprit_counters *counters = opened("page-faults,task-clock,cycles");
	assert_true(open_descriptors(false) > all);
	assert_int_equal(open_descriptors(true), before);
	assert_int_equal(status_of_child(count_inherited, NULL), before);
	culprit_counters_close(counters);
	assert_int_equal(open_descriptors(false), all);
}

static struct culprit_counters *of_handler;
static volatile sig_atomic_t handled, wrong;

static void measure_in_handler(int signal)
{
	(void)signal;
	struct culprit_value value;
	int code = errno;
	if (culprit_counters_start(of_handler))
		wrong = 1;
	touch_pages(10);
	if (culprit_counters_stop(of_handler) || culprit_counters_values(of_handler, &value, 1) ||
	    !(value.value >= 10 && value.value <= most_of(10)))
		wrong = 2;
	handled = handled + 1;
	errno = code;
}

static void handlers_measure_while_another_measurement_is_interrupted(void **state)
{
	(void)state;
	of_handler = opened("page-faults,cycles");
	struct culprit_counters *counters = opened("page-faults,cycles");
	struct sigaction action = { .sa_handler = measure_in_handler, .sa_flags = SA_RESTART };
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL,
		  &(struct itimerval){ .it_interval.tv_usec = 200, .it_value.tv_usec = 200 }, NULL);
	for (int turn = 0; handled < 200; turn++) {
		int before = handled;
		double faults = faults_of_touching(counters, 20);
		int meanwhile = handled - before;
		/* what a handler did between start and stop is counted */
		assert_true(faults >= 20 && faults <= most_of(20 + 10 * meanwhile));
		if (turn > 5000000)
			fail_msg("%d signals came", (int)handled);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_int_equal(wrong, 0);
	culprit_counters_close(counters);
	culprit_counters_close(of_handler);
}

int main(void)
{
	struct culprit_counters *counters = NULL;
	struct culprit_error error;
	int status = culprit_counters_open("page-faults", NULL, &counters, &error);
	if (status == -EACCES || status == -EPERM || status == -ENOSYS) {
		printf("%s\n", error.text);
		return 77;
	}
	culprit_counters_close(counters);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_gets_no_values_of_its_parent),
		cmocka_unit_test(another_thread_is_refused),
		cmocka_unit_test(counters_are_no_standard_descriptors),
		cmocka_unit_test(options_of_later_versions_are_refused),
		cmocka_unit_test(a_childs_events_are_not_counted),
		cmocka_unit_test(a_childs_events_are_counted_when_asked_for),
		cmocka_unit_test(a_child_closes_what_it_inherited_and_counts_by_its_own),
		cmocka_unit_test(what_is_executed_inherits_no_descriptor),
		cmocka_unit_test(handlers_measure_while_another_measurement_is_interrupted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
