/* Samples of this machine's own clock event: whose they are, and that nothing else is sampled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "culprit/sampler.h"
#include "support/skip.h"

#define PERIOD_NS  250000
#define WANTED	   40
#define PATIENCE_S 60 /* of this thread's CPU time; what takes longer does not come */

/* ---- allocation, as the library sees it (ld --wrap) */

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	allocations++;
	return __real_realloc(memory, size);
}

/* ---- code whose addresses are known: each function fills a section of its own */

extern const char __start_code_inside[], __stop_code_inside[];
extern const char __start_code_outside[], __stop_code_outside[];
extern const char __start_code_caller[], __stop_code_caller[];

static volatile uint64_t sink;

__attribute__((noinline, section("code_inside"))) static void inside(unsigned rounds)
{
	uint64_t number = rounds;
	for (unsigned i = 0; i < rounds; i++) {
		number = number * 3 + i;
		__asm__ volatile("" : "+r"(number)); /* no access to memory, which TSan would see */
	}
}

__attribute__((noinline, section("code_outside"))) static void outside(unsigned rounds)
{
	uint64_t number = rounds;
	for (unsigned i = 0; i < rounds; i++) {
		number = number * 5 + i;
		__asm__ volatile("" : "+r"(number)); /* no access to memory, which TSan would see */
	}
}

__attribute__((noinline)) static void between(unsigned rounds)
{
	inside(rounds);
	sink++; /* so that it is no jump */
}

/* inside() calls nothing and so may have no frame: between() is missing in its chains then. */
__attribute__((noinline, section("code_caller"))) static void caller(unsigned rounds)
{
	between(rounds);
	sink++;
}

#define IN(part, address)                                                                          \
	((address) >= (uintptr_t)__start_code_##part && (address) < (uintptr_t)__stop_code_##part)

struct seen {
	size_t all, inside, outside, called, other_threads, unordered, kernel;
	uint64_t period, last_ns, first_ns;
	uint32_t tid;
};

static void see(void *context, const struct culprit_sample *sample)
{
	struct seen *seen = context;
	seen->all++;
	seen->inside += IN(inside, sample->address);
	seen->outside += IN(outside, sample->address);
	bool called = false;
	for (size_t i = 0; i < sample->call_count; i++)
		called |= IN(caller, sample->calls[i]);
	seen->called += called && IN(inside, sample->address);
	seen->other_threads += sample->tid != (uint32_t)gettid();
	seen->unordered += sample->time_ns < seen->last_ns;
	seen->kernel += sample->kernel != 0;
	seen->first_ns = seen->first_ns ? seen->first_ns : sample->time_ns;
	seen->last_ns = sample->time_ns;
	seen->period += sample->period;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool patient(double since_s)
{
	return cpu_s() - since_s < PATIENCE_S;
}

static struct culprit_sampler *opened(struct culprit_sampler_options options, struct seen *seen)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error;
	*seen = (struct seen){ .all = 0 };
	options.function = see;
	options.context = seen;
	options.period = options.period ? options.period : PERIOD_NS;
	int ret = culprit_sampler_open("cpu-clock:u", &options, &sampler, &error);
	if (ret == -EACCES || ret == -EPERM || ret == -ENOSYS)
		SKIP("perf events may not be used here: %s", error.text);
	if (ret)
		fail_msg("%s", error.text);
	return sampler;
}

static void closed(struct culprit_sampler *sampler)
{
	assert_int_equal(culprit_sampler_close(sampler, NULL), 0);
}

/* ---- tests */

static void samples_are_of_the_segment_alone(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .fd = 0 }, &seen);
	double since = cpu_s();
	while (cpu_s() - since < 100e-9 * PERIOD_NS) /* 100 periods before the first segment */
		outside(100000);
	while (seen.inside < WANTED && patient(since)) {
		outside(1000000);
		assert_int_equal(culprit_sampler_start(sampler), 0);
		inside(1000000);
		assert_int_equal(culprit_sampler_stop(sampler), 0);
		outside(1000000);
	}
	assert_true(seen.inside >= WANTED);
	assert_int_equal(seen.outside, 0);
	/* the rest is what start and stop themselves are */
	assert_true(seen.inside * 2 > seen.all);
	assert_int_equal(seen.other_threads, 0);
	assert_int_equal(seen.kernel, 0);
	assert_int_equal(seen.unordered, 0);
	assert_int_equal(seen.period, seen.all * PERIOD_NS);
	closed(sampler);
}

/* So that the test above cannot pass because nothing ever falls on outside(). */
static void what_is_within_the_segment_is_sampled_whichever_it_is(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .fd = 0 }, &seen);
	double since = cpu_s();
	assert_int_equal(culprit_sampler_start(sampler), 0);
	while (seen.outside < WANTED && patient(since)) {
		outside(1000000);
		assert_int_equal(culprit_sampler_drain(sampler), 0);
	}
	assert_true(seen.outside >= WANTED);
	assert_int_equal(seen.inside, 0);
	closed(sampler);
}

static void times_are_of_the_monotonic_clock(void **state)
{
	(void)state;
	struct seen seen;
	struct timespec begin, end;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .fd = 0 }, &seen);
	double since = cpu_s();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	assert_int_equal(culprit_sampler_start(sampler), 0);
	while (!seen.all && patient(since)) {
		inside(1000000);
		assert_int_equal(culprit_sampler_drain(sampler), 0);
	}
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(seen.all);
	assert_true(seen.first_ns >= (uint64_t)begin.tv_sec * 1000000000 + (uint64_t)begin.tv_nsec);
	assert_true(seen.last_ns <= (uint64_t)end.tv_sec * 1000000000 + (uint64_t)end.tv_nsec);
	closed(sampler);
}

static void stacks_name_the_caller(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .stacks = 1 }, &seen);
	double since = cpu_s();
	while (seen.inside < WANTED && patient(since)) {
		assert_int_equal(culprit_sampler_start(sampler), 0);
		caller(3000000);
		assert_int_equal(culprit_sampler_stop(sampler), 0);
	}
	assert_true(seen.inside >= WANTED);
	assert_int_equal(seen.called, seen.inside);
	closed(sampler);
}

static void segments_shorter_than_a_period_add_up(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .period = 20 * PERIOD_NS }, &seen);
	double since = cpu_s(), within = 0;
	size_t segments = 0;
	for (; seen.inside < 5 && patient(since); segments++) {
		double begin = cpu_s();
		assert_int_equal(culprit_sampler_start(sampler), 0);
		inside(20000);
		assert_int_equal(culprit_sampler_stop(sampler), 0);
		within += cpu_s() - begin;
	}
	assert_true(seen.inside >= 5);
	assert_true(segments > seen.all);
	/* starting and stopping take some of it; a sampler that began each period anew with its
	   segment took hundreds of times as long */
	assert_true(within < 10.0 * (double)seen.all * 20 * PERIOD_NS / 1e9);
	closed(sampler);
}

static void samples_without_room_are_counted(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler_counts counts = { .samples = 0 };
	struct culprit_sampler *sampler = opened(
		(struct culprit_sampler_options){
			.buffer_bytes = 1, .stacks = 1, .period = 100000 },
		&seen);
	double since = cpu_s();
	assert_int_equal(culprit_sampler_start(sampler), 0);
	while (counts.lost < WANTED && patient(since)) {
		caller(1000000);
		culprit_sampler_counts(sampler, &counts);
	}
	assert_true(counts.lost >= WANTED);
	assert_int_equal(counts.samples, 0);
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	culprit_sampler_counts(sampler, &counts);
	assert_true(counts.samples > 0);
	assert_int_equal(counts.samples, seen.all);
	closed(sampler);
}

static void *spin(void *context)
{
	(void)context;
	for (double since = cpu_s(); cpu_s() - since < 0.1;)
		inside(100000);
	return NULL;
}

static size_t samples_of_a_thread(int threads)
{
	struct seen seen;
	pthread_t thread;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .threads = threads }, &seen);
	assert_int_equal(culprit_sampler_start(sampler), 0);
	assert_int_equal(pthread_create(&thread, NULL, spin, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	closed(sampler);
	return seen.other_threads;
}

static void threads_started_later_are_sampled_when_asked_for(void **state)
{
	(void)state;
	assert_true(samples_of_a_thread(1) > 0);
	assert_int_equal(samples_of_a_thread(0), 0);
}

static int child_of(struct culprit_sampler *sampler, const struct seen *seen)
{
	size_t before = seen->all;
	if (culprit_sampler_start(sampler) != -ECHILD || culprit_sampler_stop(sampler) != -ECHILD ||
	    culprit_sampler_drain(sampler) != -ECHILD)
		return 1;
	spin(NULL);
	return culprit_sampler_close(sampler, NULL) == 0 && seen->all == before ? 0 : 2;
}

static void in_a_child_a_sampler_does_nothing(void **state)
{
	(void)state;
	struct seen seen;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .threads = 1 }, &seen);
	assert_int_equal(culprit_sampler_start(sampler), 0);
	pid_t child = fork();
	if (child == 0)
		_exit(child_of(sampler, &seen));
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	/* the child has neither stopped the parent's events nor is it among the samples */
	double since = cpu_s();
	while (seen.inside < WANTED && patient(since)) {
		inside(1000000);
		assert_int_equal(culprit_sampler_drain(sampler), 0);
	}
	assert_true(seen.inside >= WANTED);
	assert_int_equal(seen.other_threads, 0);
	closed(sampler);
}

static void after_opening_nothing_is_allocated(void **state)
{
	(void)state;
	struct seen seen;
	int fd = memfd_create("samples", MFD_CLOEXEC);
	assert_true(fd > 0);
	struct culprit_sampler_counts counts;
	size_t before_all = allocations;
	struct culprit_sampler *sampler =
		opened((struct culprit_sampler_options){ .stacks = 1, .fd = fd }, &seen);
	assert_true(allocations > before_all); /* they are counted */
	size_t before = allocations;
	double since = cpu_s();
	while (seen.inside < WANTED && patient(since)) {
		culprit_sampler_start(sampler);
		caller(1000000);
		culprit_sampler_drain(sampler);
		culprit_sampler_stop(sampler);
		culprit_sampler_counts(sampler, &counts);
	}
	assert_int_equal(allocations, before);
	assert_true(seen.inside >= WANTED);
	closed(sampler);
	close(fd);
}

static void refused(const char *event, struct culprit_sampler_options options, int code,
		    const char *text)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error = { .code = 0 };
	assert_int_equal(culprit_sampler_open(event, &options, &sampler, &error), code);
	assert_null(sampler);
	assert_int_equal(error.code, code);
	if (!strstr(error.text, text))
		fail_msg("'%s' does not say '%s'", error.text, text);
}

static void mistakes_are_refused_in_a_sentence(void **state)
{
	(void)state;
	struct culprit_sampler *sampler = NULL;
	refused("cpu-clock", (struct culprit_sampler_options){ .fd = 0 }, -EINVAL,
		"needs a function, a path or a descriptor");
	refused("cpu-clock", (struct culprit_sampler_options){ .fd = 1, .path = "x" }, -EINVAL,
		"not to both");
	refused("cpu-clock",
		(struct culprit_sampler_options){ .function = see, .frequency_hz = 1, .period = 1 },
		-EINVAL, "a frequency or a period");
	refused("cpu-clock",
		(struct culprit_sampler_options){ .function = see, .reserved = { 0, 1 } }, -EINVAL,
		"does not know");
	refused("cpu-clock,page-faults", (struct culprit_sampler_options){ .function = see },
		-EINVAL, "one event");
	refused("cpu-clok", (struct culprit_sampler_options){ .function = see }, -ENOENT,
		"cpu-clok");
	refused("cpu-clock:k", (struct culprit_sampler_options){ .function = see, .user_only = 1 },
		-EINVAL, "kernel alone");
	refused("cpu-clock",
		(struct culprit_sampler_options){ .function = see, .buffer_bytes = SIZE_MAX },
		-EINVAL, "too large");
	assert_int_equal(culprit_sampler_open("cpu-clock", NULL, &sampler, NULL), -EINVAL);
	assert_int_equal(culprit_sampler_close(NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_of_the_segment_alone),
		cmocka_unit_test(what_is_within_the_segment_is_sampled_whichever_it_is),
		cmocka_unit_test(times_are_of_the_monotonic_clock),
		cmocka_unit_test(stacks_name_the_caller),
		cmocka_unit_test(segments_shorter_than_a_period_add_up),
		cmocka_unit_test(samples_without_room_are_counted),
		cmocka_unit_test(threads_started_later_are_sampled_when_asked_for),
		cmocka_unit_test(in_a_child_a_sampler_does_nothing),
		cmocka_unit_test(after_opening_nothing_is_allocated),
		cmocka_unit_test(mistakes_are_refused_in_a_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
