/*
 * CPUs 0 and 1 whose time is made up, as are the timer that interrupts one of them and the sleep of
 * whoever looks: time goes on by what is slept (ld --wrap).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "collect/cpu_time.h"
#include "collect/idle_cost.h"
#include "support/made_up_events.h"

#define TICK_NS UINT64_C(10000000)
#define COST_NS 7000.0 /* of an interrupt */

static const int cpus[] = { 0, 1 };

static struct machine {
	uint64_t now_ns;
	double busy[2];		/* of the time, with work */
	double idle_ns[2];	/* so far */
	double samples;		/* of the timer, while there was work */
	bool known, rings_full; /* whether the kernel tells of them; whether the ring is full */
} machine;

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_cpu_time_read(const int *list, size_t count, struct cpu_time *times);

static struct made_up_event *timer_of(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, cpu);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	double ns = (double)time->tv_nsec;
	machine.now_ns += (uint64_t)time->tv_nsec;
	for (int cpu = 0; cpu < 2; cpu++) {
		struct made_up_event *timer = timer_of(cpu);
		double period = timer && timer->counts ? (double)timer->attr.sample_period : 0;
		machine.idle_ns[cpu] +=
			ns * (1 - machine.busy[cpu]) * (period > 0 ? 1 - COST_NS / period : 1);
		if (period > 0)
			machine.samples += ns * machine.busy[cpu] / period;
		/* Only its growth is looked at: 8 bytes a sample. */
		if (timer && timer->ring)
			made_up_control(timer)->data_head = machine.rings_full
								    ? timer->data_bytes
								    : (uint64_t)machine.samples * 8;
	}
	return 0;
}

int __wrap_cpu_time_read(const int *list, size_t count, struct cpu_time *times)
{
	for (size_t i = 0; i < count; i++)
		times[i] = (struct cpu_time){
			.known = machine.known,
			.wall_ns = machine.now_ns,
			.idle_ns = (uint64_t)machine.idle_ns[list[i]] / TICK_NS * TICK_NS,
		};
	return 0;
}

static void begin(double first, double second)
{
	made_up_begin();
	machine = (struct machine){ .busy = { first, second }, .known = true };
}

static int measure(uint64_t max_sample_rate, struct idle_cost *cost)
{
	const struct perf_event_attr clock = { .type = PERF_TYPE_SOFTWARE,
					       .config = PERF_COUNT_SW_CPU_CLOCK };
	int ret = idle_cost_measure(&clock, cpus, 2, max_sample_rate, cost);
	assert_int_equal(made_up_open_count(), 0);
	return ret;
}

static void expect_cost(const struct idle_cost *cost)
{
	assert_true(cost->ns > COST_NS * 0.97 && cost->ns < COST_NS * 1.03);
	assert_true(cost->low_ns <= cost->ns && cost->ns <= cost->high_ns);
	assert_true(cost->high_ns < COST_NS * 1.1 && cost->low_ns > COST_NS * 0.9);
}

static void the_cpu_that_idles_most_tells_what_an_interrupt_costs(void **state)
{
	(void)state;
	struct idle_cost cost = { 0 };
	begin(0.5, 0);
	assert_int_equal(measure(0, &cost), 0);
	assert_int_equal(made_up.count, 1);
	assert_int_equal(made_up.events[0].cpu, 1);
	assert_int_equal(made_up.events[0].attr.sample_period, 50000);
	assert_true(made_up.events[0].attr.exclude_idle);
	expect_cost(&cost);
}

/* Above it the kernel throttles. */
static void the_timer_stays_below_the_kernels_limit(void **state)
{
	(void)state;
	struct idle_cost cost = { 0 };
	begin(0.5, 0);
	assert_int_equal(measure(8000, &cost), 0);
	assert_int_equal(made_up.events[0].attr.sample_period, 250000);
	assert_true(cost.ns > COST_NS * 0.5 && cost.ns < COST_NS * 1.5); /* ticks are coarse */
}

static void busy_cpus_tell_nothing(void **state)
{
	(void)state;
	struct idle_cost cost = { 0 };
	begin(1, 1);
	assert_int_equal(measure(0, &cost), -EAGAIN);
	begin(0.95, 0.9); /* a tick now and then */
	machine.idle_ns[1] = (double)TICK_NS - 100;
	assert_int_equal(measure(0, &cost), -EAGAIN);
	begin(0, 0);
	machine.known = false;
	assert_int_equal(measure(0, &cost), -EAGAIN);
	assert_int_equal(made_up.count, 0);
	/* What a full ring has no room for is not counted: no window can be told. */
	begin(0, 0);
	machine.rings_full = true;
	assert_int_equal(measure(0, &cost), -EAGAIN);
	assert_true(cost.ns == 0);
}

static int refuse(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return -EACCES;
}

static void what_may_not_be_opened_tells_nothing(void **state)
{
	(void)state;
	struct idle_cost cost = { 0 };
	begin(0, 0);
	made_up.judge = refuse;
	assert_int_equal(measure(0, &cost), -EACCES);
	begin(0, 0);
	made_up.pages_most = 4;
	assert_int_equal(measure(0, &cost), -EPERM);
	made_up_begin();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cpu_that_idles_most_tells_what_an_interrupt_costs),
		cmocka_unit_test(the_timer_stays_below_the_kernels_limit),
		cmocka_unit_test(busy_cpus_tell_nothing),
		cmocka_unit_test(what_may_not_be_opened_tells_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
