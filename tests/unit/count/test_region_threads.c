/* Regions in several threads, in signal handlers and across fork(2), on this machine's own clock
 * and kernel. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sanitizers.h"
#include "made_up_regions.h"
#include "support/skip.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
static _Atomic unsigned allocations;

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	allocations++;
	return __real_realloc(memory, size);
}

static struct culprit_regions *regions;
static struct culprit_region *region;
static struct culprit_region_result result;

static void open_regions(const char *events)
{
	struct culprit_error error;
	if (culprit_regions_open(events, NULL, &regions, &error))
		fail_msg("%s", error.text);
	region = culprit_region_named(regions, "work");
	assert_non_null(region);
}

static void join(void)
{
	struct culprit_error error;
	if (culprit_regions_join(regions, &error))
		fail_msg("%s", error.text);
}

static const struct culprit_region_result *row(size_t index)
{
	assert_true(index < culprit_regions_results(regions));
	assert_int_equal(culprit_regions_result(regions, index, &result), 0);
	return &result;
}

static void mark(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		culprit_region_begin(region);
		culprit_region_end(region);
	}
}

/* Threads that are started with this leave by themselves, end without leaving, or never join. */
enum life { LEAVES, ENDS, NEVER_JOINS };

static void *live(void *argument)
{
	enum life life = *(enum life *)argument;
	if (life != NEVER_JOINS)
		join();
	mark(1000);
	if (life == LEAVES)
		culprit_regions_leave(regions);
	return NULL;
}

static void run(enum life life)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, live, &life), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void what_threads_measured_stays_when_they_are_gone(void **state)
{
	(void)state;
	open_regions("page-faults");
	join();
	mark(10);
	run(LEAVES);
	run(ENDS);
	run(NEVER_JOINS);
	assert_int_equal(culprit_regions_results(regions), 4);
	assert_int_equal(row(0)->time.count, 2010);
	assert_int_equal(result.not_joined, 1000);
	double total = result.time.total, parts = 0;
	double min = INFINITY, max = 0, all_min = result.time.min, all_max = result.time.max;
	int threads[4] = { 0 };
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(row(i)->time.count, i == 1 ? 10 : 1000);
		assert_int_equal(result.events[0].count, result.time.count);
		assert_false(isnan(result.time.median));
		parts += result.time.total;
		min = fmin(min, result.time.min);
		max = fmax(max, result.time.max);
		threads[i] = result.thread;
	}
	assert_true(parts >= total * 0.999);
	assert_true(all_min == min && all_max == max);
	assert_int_equal(threads[1], gettid());
	assert_true(threads[1] != threads[2] && threads[2] != threads[3]);
	culprit_regions_close(regions);
}

static void a_thread_may_outlive_its_regions_and_join_others(void **state)
{
	(void)state;
	open_regions(NULL);
	join();
	mark(5);
	culprit_regions_close(regions); /* without having left */
	open_regions(NULL);
	mark(3); /* not joined to these */
	assert_int_equal(row(0)->time.count, 0);
	assert_int_equal(result.not_joined, 3);
	join();
	mark(3);
	culprit_regions_leave(regions);
	mark(3);
	join();
	mark(4);
	assert_int_equal(row(0)->time.count, 7);
	assert_int_equal(result.not_joined, 6);
	culprit_regions_close(regions);
}

static void two_sets_of_regions_are_apart(void **state)
{
	(void)state;
	struct culprit_regions *others;
	struct culprit_region_result other;
	open_regions(NULL);
	assert_int_equal(culprit_regions_open(NULL, NULL, &others, NULL), 0);
	struct culprit_region *second = culprit_region_named(others, "work");
	join();
	assert_int_equal(culprit_regions_join(others, NULL), 0);
	for (int i = 0; i < 100; i++) {
		culprit_region_begin(region);
		culprit_region_begin(second);
		culprit_region_end(region);
		culprit_region_end(second);
	}
	assert_int_equal(row(0)->time.count, 100);
	assert_int_equal(result.mismatched, 0);
	assert_int_not_equal(culprit_regions_results(others), 0);
	assert_int_equal(culprit_regions_result(others, 0, &other), 0);
	assert_int_equal(other.time.count, 100);
	assert_int_equal(other.mismatched, 0);
	culprit_regions_close(others);
	culprit_regions_close(regions);
}

#define MARKERS 3

static _Atomic bool stop;

static void *mark_until_stopped(void *unused)
{
	(void)unused;
	join();
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		mark(100);
	culprit_regions_leave(regions);
	return NULL;
}

static void others_read_while_threads_measure(void **state)
{
	(void)state;
	open_regions(NULL);
	pthread_t threads[MARKERS];
	stop = false;
	for (int i = 0; i < MARKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mark_until_stopped, NULL), 0);
	uint64_t count = 0;
	for (int i = 0; i < 2000; i++) {
		const struct culprit_region_event *time = &row(0)->time;
		assert_true(time->count >= count);
		count = time->count;
		if (count)
			assert_true(time->min <= time->median && time->median <= time->p99 &&
				    time->p99 <= time->max);
		if (i == 1000) /* regions may be named meanwhile */
			assert_non_null(culprit_region_named(regions, "later"));
	}
	stop = true;
	for (int i = 0; i < MARKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(row(0)->mismatched + result.omitted + result.not_joined, 0);
	culprit_regions_close(regions);
}

#define STEP 1000

static void *work_evenly(void *unused)
{
	(void)unused;
	join();
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		culprit_region_begin(region);
		made_up.ticks += STEP;
		culprit_region_end(region);
	}
	return NULL;
}

static void what_is_read_is_of_one_moment(void **state)
{
	(void)state;
	struct region_scene scene;
	pthread_t thread;
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	regions = scene.regions;
	region = culprit_region_named(regions, "work");
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, work_evenly, NULL), 0);
	uint64_t first = 0;
	for (int i = 0; i < 200000 || result.time.count == first; i++) {
		assert_int_equal(culprit_regions_results(regions) > 0, 1);
		assert_int_equal(culprit_regions_result(regions, 0, &result), 0);
		if (i == 0)
			first = result.time.count;
		assert_true(result.time.total == (double)result.time.count * STEP);
	}
	stop = true;
	pthread_join(thread, NULL);
	region_scene_end(&scene);
}

static struct culprit_region *handled;
static _Atomic unsigned handlings;

static void handle(int number)
{
	(void)number;
	handlings++;
	culprit_region_begin(handled);
	culprit_region_end(handled);
}

static void signal_handlers_may_mark_regions(void **state)
{
	(void)state;
	open_regions(NULL);
	handled = culprit_region_named(regions, "handled");
	join();
	handlings = 0;
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART }, before;
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	unsigned marked = 0;
	for (; handlings < 2000; marked += 100)
		mark(100);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_int_equal(row(0)->time.count, marked);
	assert_int_equal(result.mismatched + result.omitted, 0);
	assert_int_equal(row(2)->time.count + result.omitted, handlings);
	assert_int_equal(result.mismatched, 0);
	culprit_regions_close(regions);
}

/* Before, while and after the thread takes part: each region of the handler is counted or said to
 * be missing. */
static void signals_may_come_while_a_thread_joins_and_leaves(void **state)
{
	(void)state;
	open_regions("task-clock");
	handled = culprit_region_named(regions, "handled");
	handlings = 0;
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART }, before;
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { 0 };
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	unsigned joined = 0;
	for (; handlings < 500 || joined < 20; joined++) {
		join();
		mark(1);
		culprit_regions_leave(regions);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	uint64_t marked = 0, missing = 0, in_handlers = 0;
	for (size_t i = 0; i < culprit_regions_results(regions); i++)
		if (row(i)->thread == 0 && strcmp(result.name, "work") == 0)
			marked = result.time.count + result.omitted;
		else if (result.thread == 0) {
			in_handlers = result.time.count;
			missing = result.not_joined + result.omitted;
		}
	assert_int_equal(marked, joined);
	assert_int_equal(in_handlers + missing, handlings);
	assert_true(missing > 0);
	culprit_regions_close(regions);
	handled = NULL;
}

/* A handler that comes while cells are being written: its region is omitted, and the one
 * that it interrupted is not disturbed. */
static uint64_t interrupting_ticks(void)
{
	if (handled && made_up.ticks == 12345) {
		made_up.ticks++;
		struct region_stack *stack = region_here.stack;
		uint32_t last = stack->plain_last;
		stack->plain_last = REGION_WRITING;
		handle(0);
		stack->plain_last = last;
	}
	return made_up.ticks;
}

static void a_handler_that_interrupts_writing_is_omitted(void **state)
{
	(void)state;
	struct region_scene scene;
	made_up = (struct made_up_clock){ 0 };
	handled = NULL;
	assert_int_equal(region_scene_begin(&scene, counting_intel, NULL, NULL), 0);
	scene.kernel.ticks = interrupting_ticks;
	culprit_regions_close(scene.regions);
	assert_int_equal(regions_open(NULL, NULL, &scene.world, &regions, NULL), 0);
	scene.regions = regions;
	region = culprit_region_named(regions, "work");
	handled = culprit_region_named(regions, "handled");
	join();
	culprit_region_begin(region);
	made_up.ticks = 12345;
	culprit_region_end(region);
	handled = NULL;
	assert_int_equal(row(0)->time.count, 1);
	assert_int_equal(result.omitted + result.mismatched, 0);
	assert_int_equal(row(2)->time.count, 0);
	assert_int_equal(result.omitted, 1);
	region_scene_end(&scene);
}

/* What the child found, as its exit status; 0: what it should. */
static int in_child(void)
{
	culprit_region_end(region); /* that the parent began */
	mark(7);
	if (culprit_regions_results(regions) != 1 || culprit_regions_result(regions, 0, &result))
		return 1;
	if (result.time.count != 0 || result.mismatched != 0)
		return 2;
	if (culprit_regions_join(regions, NULL))
		return 3;
	mark(5);
	if (culprit_regions_results(regions) != 2 || culprit_regions_result(regions, 1, &result))
		return 4;
	if (result.time.count != 5 || result.events[0].count != 5 || result.thread != getpid())
		return 5;
	culprit_regions_leave(regions);
	culprit_regions_close(regions);
	return 0;
}

static void fork_in_region(const char *events)
{
	open_regions(events);
	join();
	mark(100);
	culprit_region_begin(region);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(in_child());
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	culprit_region_end(region);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(row(0)->time.count, 101);
	assert_int_equal(result.not_joined, 0);
	culprit_regions_close(regions);
}

static void a_child_measures_nothing_before_it_joins(void **state)
{
	(void)state;
	fork_in_region("page-faults");
}

/* A thread that forks while another one holds the lock leaves it held in the child. */
static void a_child_takes_the_lock_from_its_parent(void **state)
{
	(void)state;
	open_regions(NULL);
	region_lock(regions);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(culprit_regions_join(regions, NULL) == 0 ? 0 : 1);
	region_unlock(regions);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	culprit_regions_close(regions);
}

static void nothing_is_allocated_after_joining(void **state)
{
	(void)state;
	if (SANITIZERS)
		SKIP("a sanitizer allocates by itself");
	open_regions("page-faults,task-clock");
	struct culprit_region *inner = culprit_region_named(regions, "inner");
	join();
	unsigned before = allocations;
	for (int i = 0; i < 100; i++) {
		culprit_region_begin(region);
		culprit_region_begin(inner);
		culprit_region_end(inner);
		culprit_region_end(region);
		culprit_region_end(region);
		row(0);
	}
	assert_int_equal(allocations, before);
	free(malloc(1)); /* and one that is made is seen */
	culprit_regions_close(regions);
	assert_true(before > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_threads_measured_stays_when_they_are_gone),
		cmocka_unit_test(a_thread_may_outlive_its_regions_and_join_others),
		cmocka_unit_test(two_sets_of_regions_are_apart),
		cmocka_unit_test(others_read_while_threads_measure),
		cmocka_unit_test(what_is_read_is_of_one_moment),
		cmocka_unit_test(signal_handlers_may_mark_regions),
		cmocka_unit_test(signals_may_come_while_a_thread_joins_and_leaves),
		cmocka_unit_test(a_handler_that_interrupts_writing_is_omitted),
		cmocka_unit_test(a_child_measures_nothing_before_it_joins),
		cmocka_unit_test(a_child_takes_the_lock_from_its_parent),
		cmocka_unit_test(nothing_is_allocated_after_joining),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
