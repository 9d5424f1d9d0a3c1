#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "count/kernel.h"
#include "count/ticks.h"
#include "support/skip.h"

/* The clock between two readings of the system's, of which no more can be said than that. */
struct reading {
	uint64_t before_ns, after_ns;
	double source_ns;
};

static struct reading read_all(const struct tick_source *source)
{
	struct reading reading;
	reading.before_ns = clock_monotonic_ns();
	reading.source_ns = (double)ticks_read(source) * source->ns_per_tick;
	reading.after_ns = clock_monotonic_ns();
	return reading;
}

static void ticks_are_as_long_as_is_said(void **state)
{
	(void)state;
	struct tick_source source;
	tick_source_find(&count_kernel_real, &source);
	assert_true(source.ns_per_tick > 0);
	struct reading begin = read_all(&source);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	struct reading end = read_all(&source);
	double passed = end.source_ns - begin.source_ns;
	double least = (double)(end.before_ns - begin.after_ns);
	double most = (double)(end.after_ns - begin.before_ns);
	/* the system's clock may be slewed by 500 ppm (adjtimex(2)), and a tick be wrong by some */
	assert_true(passed >= least * 0.999 && passed <= most * 1.001);
}

static void a_clock_that_may_not_be_read_is_not_used(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	SKIP("only x86 can forbid it");
#endif
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct tick_source source;
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
			_exit(77);
		tick_source_find(&count_kernel_real, &source);
		_exit(source.read && source.ns_per_tick == 1 && ticks_read(&source) > 0 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("this kernel does not forbid it");
	assert_int_equal(status, 0);
}

static uint64_t stands_still(void)
{
	return 42;
}

static void a_made_up_kernel_has_the_clock_that_it_says(void **state)
{
	(void)state;
	struct count_kernel kernel = count_kernel_real;
	kernel.ticks = stands_still;
	struct tick_source source;
	tick_source_find(&kernel, &source);
	assert_int_equal(ticks_read(&source), 42);
	assert_true(source.ns_per_tick == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_as_long_as_is_said),
		cmocka_unit_test(a_clock_that_may_not_be_read_is_not_used),
		cmocka_unit_test(a_made_up_kernel_has_the_clock_that_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
