/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "analyze/counted/limiting_factor.h"

/* A program that computes for a second on one of 8 CPUs, on a machine without a PMU. */
static struct run_figures spinning(void)
{
	return (struct run_figures){
		.elapsed_s = 1,
		.busy_s = 0.99,
		.cpus = 8,
		.user_s = 0.98,
		.system_s = 0.01,
		.cycles = NAN,
		.instructions = NAN,
		.branch_misses = NAN,
		.page_faults = 100,
		.page_fault_s = 1e-6,
		.voluntary_switches = 1,
		.involuntary_switches = 20,
		.slots = { NAN, NAN, NAN, NAN },
	};
}

/* One that sleeps for most of it. */
static struct run_figures sleeping(void)
{
	struct run_figures figures = spinning();
	figures.busy_s = figures.user_s = 0.2;
	figures.system_s = 0;
	figures.voluntary_switches = 100;
	figures.involuntary_switches = 2;
	return figures;
}

/* One that touches new memory all the time. */
static struct run_figures faulting(void)
{
	struct run_figures figures = spinning();
	figures.user_s = 0.1;
	figures.system_s = 0.88;
	figures.page_faults = 800000;
	return figures;
}

static void assert_limit(const struct run_figures *figures, enum limit wanted)
{
	struct limiting_factor factor = limiting_factor_of(figures);
	if (factor.limit != wanted)
		fail_msg("limited by %s, not %s", limit_names[factor.limit], limit_names[wanted]);
}

static void a_spinning_program_is_bound_by_its_cpu(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	assert_limit(&figures, LIMIT_CPU);
	figures.cpus = 1;
	assert_limit(&figures, LIMIT_CPU);
}

static void a_sleeping_program_waits(void **state)
{
	(void)state;
	struct run_figures figures = sleeping();
	assert_limit(&figures, LIMIT_WAITING);
	/* sleep(1), where next to nothing ran: whatever the switches were */
	figures.busy_s = 0.001;
	figures.voluntary_switches = figures.involuntary_switches = 1;
	assert_limit(&figures, LIMIT_WAITING);
}

static void who_is_pushed_off_the_cpu_does_not_wait(void **state)
{
	(void)state;
	struct run_figures figures = sleeping();
	figures.voluntary_switches = 2;
	figures.involuntary_switches = 100;
	assert_limit(&figures, LIMIT_CROWDED);
	figures.voluntary_switches = 80;
	assert_limit(&figures, LIMIT_OFF_CPU);
	figures.voluntary_switches = 120;
	assert_limit(&figures, LIMIT_OFF_CPU);
	figures.voluntary_switches = NAN;
	assert_limit(&figures, LIMIT_OFF_CPU);
}

static void a_faulting_program_is_bound_by_page_faults(void **state)
{
	(void)state;
	struct run_figures figures = faulting();
	assert_limit(&figures, LIMIT_PAGE_FAULTS);
}

static void kernel_time_without_as_many_faults_is_the_kernels_work(void **state)
{
	(void)state;
	struct run_figures figures = faulting();
	figures.page_faults = 1000;
	assert_limit(&figures, LIMIT_KERNEL);
	figures.page_faults = 800000;
	figures.page_fault_s = NAN; /* what one costs is not known */
	assert_limit(&figures, LIMIT_KERNEL);
}

static void many_faults_in_little_kernel_time_limit_nothing(void **state)
{
	(void)state;
	struct run_figures figures = faulting();
	figures.user_s = 0.88;
	figures.system_s = 0.1;
	assert_limit(&figures, LIMIT_CPU);
}

static void few_ticks_do_not_tell_user_from_kernel(void **state)
{
	(void)state;
	/* 30 ms are 3 ticks at 100 Hz: all of them the kernel's does not show more than half */
	struct run_figures figures = { .elapsed_s = 0.031,
				       .busy_s = 0.03,
				       .cpus = 1,
				       .user_s = 0,
				       .system_s = 0.03,
				       .cycles = NAN,
				       .instructions = NAN,
				       .branch_misses = NAN,
				       .page_faults = 0,
				       .page_fault_s = 1e-6,
				       .voluntary_switches = 0,
				       .involuntary_switches = 0,
				       .slots = { NAN, NAN, NAN, NAN } };
	assert_limit(&figures, LIMIT_CPU);
	figures.elapsed_s = 0.31;
	figures.busy_s = figures.system_s = 0.3;
	assert_limit(&figures, LIMIT_KERNEL);
}

static void mispredictions_need_a_quarter_of_the_cycles(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	figures.cycles = 3e9;
	figures.instructions = 2e9;
	figures.branch_misses = 100e6; /* 1.1e9 cycles */
	assert_limit(&figures, LIMIT_MISPREDICTION);
	figures.branch_misses = 60e6;
	assert_limit(&figures, LIMIT_CPU);
	struct limiting_factor factor = limiting_factor_of(&figures);
	assert_true(fabs(factor.instructions_per_cycle - 2.0 / 3) < 1e-12);
}

static void the_largest_use_of_slots_is_named_when_it_is_clear(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	const double clear[] = { 0.2, 0.05, 0.15, 0.6 };
	memcpy(figures.slots, clear, sizeof(clear));
	assert_limit(&figures, LIMIT_SLOTS);
	assert_int_equal(limiting_factor_of(&figures).slots_use, SLOTS_BACKEND);
	const double even[] = { 0.42, 0.05, 0.1, 0.43 };
	memcpy(figures.slots, even, sizeof(even));
	assert_limit(&figures, LIMIT_CPU);
	/* what waits does not become bound by its pipeline */
	memcpy(figures.slots, clear, sizeof(clear));
	figures.busy_s = 0.2;
	figures.voluntary_switches = 100;
	assert_limit(&figures, LIMIT_WAITING);
}

static void several_cpus_are_told_from_all(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	figures.busy_s = figures.user_s = 3.7;
	assert_limit(&figures, LIMIT_SOME_CPUS);
	figures.busy_s = figures.user_s = 7.8;
	assert_limit(&figures, LIMIT_ALL_CPUS);
	figures.cpus = NAN;
	assert_limit(&figures, LIMIT_SOME_CPUS);
}

static void between_waiting_and_computing_nothing_is_clear(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	figures.busy_s = figures.user_s = 0.7;
	assert_limit(&figures, LIMIT_NOTHING_CLEARLY);
}

static void what_was_not_measured_is_not_judged(void **state)
{
	(void)state;
	struct run_figures figures = spinning();
	figures.busy_s = NAN;
	assert_limit(&figures, LIMIT_NOT_KNOWN);
	figures = spinning();
	figures.elapsed_s = 0;
	assert_limit(&figures, LIMIT_NOT_KNOWN);
	figures = spinning();
	figures.elapsed_s = 0.005;
	figures.busy_s = 0.005;
	assert_limit(&figures, LIMIT_TOO_SHORT);
	figures = spinning();
	figures.user_s = figures.system_s = NAN; /* as of processes that somebody else started */
	assert_limit(&figures, LIMIT_CPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spinning_program_is_bound_by_its_cpu),
		cmocka_unit_test(a_sleeping_program_waits),
		cmocka_unit_test(who_is_pushed_off_the_cpu_does_not_wait),
		cmocka_unit_test(a_faulting_program_is_bound_by_page_faults),
		cmocka_unit_test(kernel_time_without_as_many_faults_is_the_kernels_work),
		cmocka_unit_test(many_faults_in_little_kernel_time_limit_nothing),
		cmocka_unit_test(few_ticks_do_not_tell_user_from_kernel),
		cmocka_unit_test(mispredictions_need_a_quarter_of_the_cycles),
		cmocka_unit_test(the_largest_use_of_slots_is_named_when_it_is_clear),
		cmocka_unit_test(several_cpus_are_told_from_all),
		cmocka_unit_test(between_waiting_and_computing_nothing_is_clear),
		cmocka_unit_test(what_was_not_measured_is_not_judged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
