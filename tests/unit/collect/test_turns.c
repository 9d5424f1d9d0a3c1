/* Events that do not all fit a made-up PMU, on a made-up machine of one CPU (made_up_recording.h).
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collect/counters.h"
#include "collect/turns.h"
#include "machine/pmu.h"
#include "made_up_recording.h"
#include "profile/bill.h"

#define WORKER 5000002u

/* The sets of events that are chosen, as "0/2" for the first of two and "-" for none. */
static void expect_sets(size_t counters, const char *events, bool any, const char *wanted)
{
	struct pmu_list none = { 0 };
	struct event_list list = { 0 };
	struct sampler samplers[16] = { { 0 } };
	struct error err;
	char sets[128] = "";
	made_up_begin();
	made_up.counters = counters;
	assert_int_equal(event_list_parse(&list, &none, NULL, events, &err), 0);
	for (size_t i = 0; i < list.count; i++) {
		samplers[i].event = &list.events[i];
		samplers[i].attr = list.events[i].attr;
		samplers[i].leader = list.events[i].leader;
		samplers[i].clock = list.events[i].clock;
		samplers[i].attr.sample_period = 1000;
		samplers[i].attr.sample_type = PERF_SAMPLE_IP;
	}
	assert_int_equal(turns_choose(samplers, list.count), any);
	for (size_t i = 0; i < list.count; i++) {
		size_t used = strlen(sets);
		if (samplers[i].turn_sets)
			snprintf(sets + used, sizeof(sets) - used, "%zu/%zu ", samplers[i].turn_set,
				 samplers[i].turn_sets);
		else
			snprintf(sets + used, sizeof(sets) - used, "- ");
	}
	assert_string_equal(sets, wanted);
	assert_int_equal(made_up_open_count(), 0);
	event_list_release(&list);
}

static void groups_share_sets_that_fit(void **state)
{
	(void)state;
	expect_sets(4, "cycles,instructions,branches,r1", false, "- - - - ");
	expect_sets(3, "cycles,instructions,branches,r1", true, "0/2 0/2 0/2 1/2 ");
	expect_sets(1, "cycles,cpu-clock,instructions,page-faults,r1", true, "0/3 - 1/3 - 2/3 ");
	/* groups stay together, and what comes later may fill a hole */
	expect_sets(3, "{cycles,instructions},{branches,r1},r2", true, "0/2 0/2 1/2 1/2 0/2 ");
	/* a group that never fits is alone */
	expect_sets(2, "{cycles,instructions,r1},branches,r2", true, "0/2 0/2 0/2 1/2 1/2 ");
	expect_sets(0, "cycles", false, "- ");
	/* what is pinned is there all the time */
	expect_sets(2, "cycles:D,instructions,branches", true, "- 0/2 1/2 ");
	expect_sets(3, "cycles:D,instructions,branches", false, "- - - ");
}

/* In each round each set has one turn, and orders are as often as one another. */
static void rounds_have_orders_of_their_own(void **state)
{
	(void)state;
	enum { ROUNDS = 6000, SETS = 3 };
	size_t first[SETS] = { 0 }, same = 0, before = 0;
	for (size_t round = 0; round < ROUNDS; round++) {
		for (size_t turn = 0; turn < SETS; turn++) {
			size_t step = round * SETS + turn, who = SETS, count = 0;
			for (size_t set = 0; set < SETS; set++)
				if (turn_thread_has(7, set, SETS, step)) {
					who = set;
					count++;
				}
			assert_int_equal(count, 1);
			if (turn == 0) {
				first[who]++;
				same += who == before;
				before = who;
			}
		}
	}
	/* 4 standard errors of 2000 */
	for (size_t set = 0; set < SETS; set++)
		assert_in_range(first[set], 1854, 2146);
	assert_in_range(same, 1854, 2146);
}

static int refuse_branches(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS
		       ? -EACCES
		       : 0;
}

/* Why an event does not open is said where it is opened to be sampled. */
static void what_does_not_open_is_left_to_others(void **state)
{
	(void)state;
	struct pmu_list none = { 0 };
	struct event_list list = { 0 };
	struct error err;
	made_up_begin();
	made_up.counters = 1;
	made_up.judge = refuse_branches;
	assert_int_equal(event_list_parse(&list, &none, NULL, "cycles,instructions,branches", &err),
			 0);
	struct sampler samplers[3] = { { 0 } };
	for (size_t i = 0; i < 3; i++)
		samplers[i] = (struct sampler){ .event = &list.events[i],
						.attr = list.events[i].attr,
						.leader = i };
	assert_false(turns_choose(samplers, 3));
	assert_int_equal(made_up_open_count(), 0);
	event_list_release(&list);
	made_up_begin();
}

static const char *const names[] = { "cycles", "instructions", "branches" };
static const uint64_t rates[] = { 3, 2, 1 }; /* events a us */

static void expect_share_of_time(const struct recording *r, const char *event, double low,
				 double high)
{
	double ran = (double)recording_billed(r, event, BILL_RUNNING_NS);
	double of = (double)recording_billed(r, event, BILL_ENABLED_NS);
	print_message("%s was counted %.0f of %.0f ms\n", event, ran / 1e6, of / 1e6);
	assert_true(ran >= low * of && ran <= high * of);
}

static void what_is_counted_in_turns_stands_for_all_of_the_time(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cycles,instructions,branches");
	made_up.counters = 2;
	r.options.turn_ns = 4000000;
	r.options.fixed_period = true;
	r.options.frequency_hz = 0;
	r.options.period = 1000000;
	if (recording_open(&r) < 0)
		fail_msg("%s", r.err.text);
	for (size_t i = 0; i < 3; i++)
		recording_event(&r, names[i])->rate = rates[i];
	assert_int_equal(collector_start(r.collector, &r.err), 0);
	recording_fork(&r, WORKER, WORKER, 1);
	recording_comm(&r, WORKER, WORKER, "worker", true);
	const struct made_up_sample sample = {
		.pid = WORKER, .tid = WORKER, .ip = 0x1000, .misc = PERF_RECORD_MISC_USER
	};
	uint64_t began_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - began_ns < 600000000) {
		struct pollfd wait = { .fd = collector_poll_fd(r.collector), .events = POLLIN };
		poll(&wait, 1, 100);
		for (size_t i = 0; i < 3; i++)
			recording_sample(&r, names[i], &sample);
		assert_int_equal(collector_service(r.collector, &r.err), 0);
	}
	recording_finish(&r);
	uint64_t took_ns = clock_monotonic_ns() - began_ns;
	/* the two of a set are one */
	assert_in_range(recording_event(&r, "cycles")->times_enabled, 10, 200);
	assert_int_equal(recording_event(&r, "cycles")->times_enabled,
			 recording_event(&r, "instructions")->times_enabled);
	assert_in_range(recording_event(&r, "branches")->times_enabled, 10, 200);
	/* one set or the other, and hardly ever none */
	double first = (double)recording_billed(&r, "cycles", BILL_RUNNING_NS);
	double second = (double)recording_billed(&r, "branches", BILL_RUNNING_NS);
	double all = (double)recording_billed(&r, "cycles", BILL_ENABLED_NS);
	assert_true(first + second <= all && first + second > 0.9 * all);
	for (size_t i = 0; i < 3; i++) {
		int64_t count = recording_billed(&r, names[i], BILL_COUNT);
		int64_t enabled_ns = recording_billed(&r, names[i], BILL_ENABLED_NS);
		assert_in_range(enabled_ns, 590000000, took_ns);
		/* the rate never changes: what stands for the rest is right but for a us a turn */
		double due = (double)enabled_ns / 1000 * (double)rates[i];
		assert_true(fabs((double)count / due - 1) < 0.02);
		assert_true(recording_billed(&r, names[i], BILL_COUNT_VARIANCE) >= 0);
		double half = 1.96 * sqrt(1e6 * (double)recording_billed(&r, names[i],
									 BILL_COUNT_VARIANCE));
		assert_true(half < 0.02 * due);
		/* and all of it is the samples' */
		double estimate = (double)recording_cells(&r, names[i], "worker", NULL).estimate;
		assert_true(fabs(estimate / (double)count - 1) < 0.001);
		expect_share_of_time(&r, names[i], 0.35, 0.65);
	}
	recording_end(&r);
}

/* Weights are given when a round is over, however many samples wait: before, nothing is known of
 * what they stand for. */
static void samples_wait_for_the_end_of_their_round(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cycles,instructions");
	made_up.counters = 1;
	r.options.turn_ns = 300000000;
	if (recording_open(&r) < 0)
		fail_msg("%s", r.err.text);
	recording_event(&r, "cycles")->rate = recording_event(&r, "instructions")->rate = 1000;
	assert_int_equal(collector_start(r.collector, &r.err), 0);
	recording_fork(&r, WORKER, WORKER, 1);
	recording_comm(&r, WORKER, WORKER, "worker", true);
	const struct made_up_sample sample = {
		.pid = WORKER, .tid = WORKER, .ip = 0x1000, .misc = PERF_RECORD_MISC_USER
	};
	uint64_t began_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - began_ns < 2500000000) {
		struct pollfd wait = { .fd = collector_poll_fd(r.collector), .events = POLLIN };
		poll(&wait, 1, 100);
		for (int i = 0; i < 40; i++)
			recording_sample(&r, "cycles", &sample);
		assert_int_equal(collector_service(r.collector, &r.err), 0);
	}
	recording_finish(&r);
	struct cell cell = recording_cells(&r, "cycles", "worker", NULL);
	double mean = (double)cell.estimate / (double)cell.samples;
	double mean_square = (double)cell.squares / (double)cell.samples;
	print_message("mean square of weights: %.2f of the square of their mean\n",
		      mean_square / (mean * mean));
	assert_true(mean_square < 1.6 * mean * mean);
	recording_end(&r);
}

/* Left to the kernel, and where all fit, nothing is disabled. */
static void the_kernel_may_do_it_alone(void **state)
{
	(void)state;
	for (int fits = 0; fits < 2; fits++) {
		struct recording r;
		recording_begin(&r, COLLECT_SYSTEM, "cycles,instructions,branches");
		made_up.counters = fits ? 3 : 2;
		r.options.turn_ns = fits ? 4000000 : TURNS_BY_KERNEL;
		recording_start(&r);
		for (size_t i = 0; i < 3; i++)
			assert_true(recording_event(&r, names[i])->counts);
		recording_finish(&r);
		assert_int_equal(recording_billed(&r, "cycles", BILL_COUNT_VARIANCE), -1);
		recording_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_share_sets_that_fit),
		cmocka_unit_test(rounds_have_orders_of_their_own),
		cmocka_unit_test(what_does_not_open_is_left_to_others),
		cmocka_unit_test(what_is_counted_in_turns_stands_for_all_of_the_time),
		cmocka_unit_test(samples_wait_for_the_end_of_their_round),
		cmocka_unit_test(the_kernel_may_do_it_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
