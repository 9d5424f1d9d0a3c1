/*
 * The bill of a recording that is made up: two CPUs, a clock and a group of two counters, without
 * an event of the kernel's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "collect/ledger.h"
#include "collect/session.h"
#include "profile/bill.h"

#define SECOND UINT64_C(1000000000)

enum { CLOCK, CYCLES, INSTRUCTIONS, EVENTS };

struct scene {
	struct session *session;
	struct ledger ledger;
	struct sampler samplers[EVENTS];
	struct lane lanes[EVENTS * 2];
	int cpus[2];
	struct ring rings[4];
	struct profile *bill; /* the last one */
};

static struct scene *new_scene(void)
{
	static const char *const names[EVENTS] = { "cpu-clock", "cycles", "instructions" };
	struct scene *scene = calloc(1, sizeof(*scene));
	assert_non_null(scene);
	struct session *session = calloc(1, sizeof(*session));
	assert_non_null(session);
	scene->session = session;
	session->profile = profile_new();
	assert_non_null(session->profile);
	scene->cpus[1] = 1;
	session->counters.samplers = scene->samplers;
	session->counters.sampler_count = EVENTS;
	session->counters.lanes = scene->lanes;
	session->counters.cpus = scene->cpus;
	session->counters.cpu_count = 2;
	session->counters.rings = scene->rings;
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct profile_event event = { .name = span_of_text(names[i]) };
		scene->samplers[i] =
			(struct sampler){ .clock = i == CLOCK, .sampled = i != INSTRUCTIONS };
		assert_int_equal(
			profile_add_event(session->profile, &event, &scene->samplers[i].id), 0);
	}
	assert_int_equal(ledger_init(&scene->ledger, session, false), 0);
	ledger_begin(&scene->ledger, session);
	return scene;
}

static void free_scene(struct scene *scene)
{
	ledger_release(&scene->ledger);
	profile_free(scene->bill);
	profile_free(scene->session->profile);
	free(scene->session);
	free(scene);
}

static void write_bill(struct scene *scene, bool closes, bool whole_cpus)
{
	struct tally_translation translation;
	profile_free(scene->bill);
	scene->bill = profile_new();
	assert_non_null(scene->bill);
	assert_int_equal(tally_translation_init(&translation, scene->session->profile, scene->bill),
			 0);
	assert_int_equal(
		ledger_write(&scene->ledger, scene->session, closes, whole_cpus, &translation), 0);
	tally_translation_release(&translation);
}

/* The amount of a line, or -1: there is none. */
static int64_t billed(const struct scene *scene, const char *event, uint64_t cpu, const char *item)
{
	const struct table *table = profile_table(scene->bill, PROFILE_BILL);
	int64_t found = -1;
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		struct span name = profile_bytes(scene->bill, keys[BILL_ITEM]);
		struct span of = keys[BILL_EVENT]
					 ? profile_event(scene->bill, keys[BILL_EVENT]).name
					 : span_of_text("");
		if (keys[BILL_CPU] == cpu && span_equal(name, span_of_text(item)) &&
		    span_equal(of, span_of_text(event))) {
			assert_int_equal(found, -1); /* one line each */
			found = (int64_t)table_values(table, row)[0];
		}
	}
	return found;
}

#define CPU(n) optional_of(n)

static void runs_are_the_sum_of_what_became_of_them(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	scene->session->follow = true;
	struct lane *lane = counters_lane(&scene->session->counters, CLOCK, 1);
	lane->sums = (struct lane_sums){ .stored = 100,
					 .filtered = 20,
					 .lost_ring = 3,
					 .lost_damaged = 2,
					 .unknown = { [1] = 7 } };
	lane->lost_settled = 9;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_RUNS), 125);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_STORED), 100);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_FILTERED), 20);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_LOST_RING), 3);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_LOST_DAMAGED), 2);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_RUNS), 0);
	/* What the weights know of is counted from this bill on. */
	assert_int_equal(lane->lost_settled, 4);

	/* Written once: what comes later is a bill of its own. */
	lane->sums.stored = 1;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_RUNS), 1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_LOST_RING), 0);
	free_scene(scene);
}

static void what_an_event_cannot_have_is_absent_and_not_0(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	counters_lane(&scene->session->counters, INSTRUCTIONS, 0)->sums.count = 12345.6;
	counters_lane(&scene->session->counters, CYCLES, 0)->sums.lost_estimate = 500;
	write_bill(scene, false, false);
	/* Read by the samples of its leader: it has none. */
	assert_int_equal(billed(scene, "instructions", CPU(0), BILL_RUNS), -1);
	assert_int_equal(billed(scene, "instructions", CPU(0), BILL_STORED), -1);
	assert_int_equal(billed(scene, "instructions", CPU(0), BILL_COUNT), 12346);
	/* A clock counts time, which is no figure of its own. */
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_COUNT), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_LOST_ESTIMATE), -1);
	assert_int_equal(billed(scene, "cycles", CPU(0), BILL_LOST_ESTIMATE), 500);
	/* Nothing was filtered, stepped or walked: nobody asked for it. */
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_FILTERED), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_STEPPED), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_STACKS_CUT), -1);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERPRET_NS), -1);
	free_scene(scene);
}

static void the_time_of_cpus_is_that_between_two_bills(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	struct ledger *ledger = &scene->ledger;
	ledger->before[0] = (struct cpu_time){ true, 10 * SECOND, 4 * SECOND, 0 };
	ledger->now[0] = (struct cpu_time){ true, 13 * SECOND, 5 * SECOND, SECOND / 2 };
	ledger->before[1] = (struct cpu_time){ true, 10 * SECOND, 0, 0 };
	ledger->now[1] = (struct cpu_time){ .known = false }; /* offline: it has no line */
	ledger->stopped = true;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), 3 * SECOND);
	assert_int_equal(billed(scene, "", CPU(0), BILL_BUSY_NS),
			 2 * SECOND); /* stolen time is no idling */
	assert_int_equal(billed(scene, "", CPU(0), BILL_STEAL_NS), SECOND / 2);
	assert_int_equal(billed(scene, "", CPU(1), BILL_ONLINE_NS), -1);
	assert_int_equal(billed(scene, "", CPU(0), BILL_OFFLINE_NS), -1);
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), 0);

	ledger->now[0].wall_ns = 20 * SECOND;
	ledger_leave_out(ledger, 0, 2 * SECOND);
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), 5 * SECOND);
	assert_int_equal(billed(scene, "", CPU(0), BILL_OFFLINE_NS), 2 * SECOND);
	free_scene(scene);
}

/* Four seconds online, idle for half a second of them, and two seconds away in between. */
static void time_offline_is_no_idling_whatever_the_kernel_counts(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	struct ledger *ledger = &scene->ledger;
	ledger->stopped = true;
	for (int counted = 0; counted < 2; counted++) {
		uint64_t extra = counted ? 2 * SECOND : 0;
		ledger->before[0] = ledger->started[0] =
			(struct cpu_time){ true, 10 * SECOND, 4 * SECOND, 0 };
		struct cpu_time back = { true, 13 * SECOND, 4 * SECOND + SECOND / 4 + extra, 0 };
		ledger_leave_out(ledger, 0, SECOND);
		ledger_leave_out(ledger, 0, SECOND);
		ledger_return(ledger, 0, &back);
		ledger->now[0] =
			(struct cpu_time){ true, 16 * SECOND, back.idle_ns + SECOND / 4, 0 };
		write_bill(scene, false, false);
		assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), 4 * SECOND);
		assert_int_equal(billed(scene, "", CPU(0), BILL_BUSY_NS), 35 * SECOND / 10);
		assert_int_equal(billed(scene, "", CPU(0), BILL_OFFLINE_NS), 2 * SECOND);
		assert_int_equal(cpu_time_busy_ns(&ledger->started[0], &ledger->now[0]),
				 35 * SECOND / 10);
	}
	/* An idle CPU: nobody can tell. The next bill knows again. */
	ledger->before[0] = ledger->started[0] = (struct cpu_time){ true, 10 * SECOND, 0, 0 };
	struct cpu_time back = { true, 16 * SECOND, 3 * SECOND, 0 };
	ledger_leave_out(ledger, 0, 2 * SECOND);
	ledger_return(ledger, 0, &back);
	ledger->now[0] = (struct cpu_time){ true, 17 * SECOND, 3 * SECOND, 0 };
	write_bill(scene, false, true);
	assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), -1);
	assert_int_equal(billed(scene, "", CPU(0), BILL_BUSY_NS), -1);
	assert_int_equal(billed(scene, "", CPU(0), BILL_OFFLINE_NS), 2 * SECOND);
	assert_int_equal(ledger->started[0].known, 0);
	ledger->now[0] = (struct cpu_time){ true, 19 * SECOND, 4 * SECOND, 0 };
	write_bill(scene, false, true);
	assert_int_equal(billed(scene, "", CPU(0), BILL_ONLINE_NS), 2 * SECOND);
	assert_int_equal(billed(scene, "", CPU(0), BILL_BUSY_NS), SECOND);
	free_scene(scene);
}

/* A clock's samples against the time that its CPU was busy, where everything was sampled. */
static void a_clock_falls_short_of_the_busy_time_or_passes_it(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	struct ledger *ledger = &scene->ledger;
	for (int cpu = 0; cpu < 2; cpu++) {
		ledger->started[cpu] = ledger->before[cpu] =
			(struct cpu_time){ true, 10 * SECOND, 0, 0 };
		ledger->now[cpu] = (struct cpu_time){ true, 14 * SECOND, SECOND, 0 };
	}
	ledger->stopped = ledger->cost_known = true;
	ledger->stopped_ns = 14 * SECOND;
	counters_lane(&scene->session->counters, CLOCK, 0)->weighed_ns = 2.5e9;
	counters_lane(&scene->session->counters, CLOCK, 1)->weighed_ns = 3.25e9;
	write_bill(scene, false, true);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SHORTFALL_NS), -1); /* goes on */
	write_bill(scene, true, true);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SHORTFALL_NS), SECOND / 2);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SURPLUS_NS), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_SURPLUS_NS), SECOND / 4);
	assert_int_equal(billed(scene, "cpu-clock", CPU(1), BILL_SHORTFALL_NS), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_IDLE_INTERRUPTS), 0);
	assert_int_equal(billed(scene, "cycles", CPU(0), BILL_SHORTFALL_NS), -1);
	/* The next epoch compares its own time alone. */
	write_bill(scene, true, true);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SURPLUS_NS), 0);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SHORTFALL_NS), -1);
	free_scene(scene);
}

/* Where it watches tasks, CPUs are busy with others: nothing is compared. */
static void tasks_alone_leave_the_clocks_unjudged(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	scene->ledger.stopped = true;
	write_bill(scene, true, false);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_SHORTFALL_NS), -1);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_IDLE_NS), -1);
	free_scene(scene);
}

static void what_grows_is_billed_by_its_growth(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	scene->rings[0].bytes = 1000;
	scene->rings[3].bytes = 24;
	scene->rings[2].damaged = 2;
	scene->session->lost_sideband = 5;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_RING_BYTES), 1024);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_LOST_DAMAGED), 2);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_LOST_SIDEBAND), 5);
	scene->rings[0].bytes += 8;
	scene->session->lost_sideband++;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_RING_BYTES), 8);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_LOST_DAMAGED), 0);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_LOST_SIDEBAND), 1);
	/* A sum of counters that were closed since may be less: nothing is taken back. */
	scene->session->lost_sideband = 0;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_LOST_SIDEBAND), 0);
	free_scene(scene);
}

/* Of an event that is counted in a table, samples with stacks come apart, and are no part of its
 * sums. */
static void samples_apart_have_items_of_their_own(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	struct session *session = scene->session;
	session->counters.options.table = (void *)scene; /* there is one: nothing reads it here */
	scene->samplers[CYCLES].apart = true;
	scene->samplers[CYCLES].beside = CLOCK;
	scene->samplers[CYCLES].stacks = true;
	scene->samplers[CYCLES].clock = true;
	scene->samplers[CYCLES].id = scene->samplers[CLOCK].id;
	session->follow = true;
	counters_lane(&session->counters, CLOCK, 0)->sums =
		(struct lane_sums){ .stored = 400, .lost_table = 5, .unknown = { [1] = 9 } };
	counters_lane(&session->counters, CYCLES, 0)->sums =
		(struct lane_sums){ .stored = 100,
				    .filtered = 20,
				    .lost_ring = 3,
				    .lost_damaged = 2,
				    .throttled = 1,
				    .stacks_cut = 4,
				    .unknown = { [1] = 7 } };
	write_bill(scene, false, false);
	static const struct {
		const char *item;
		int64_t amount;
	} expected[] = {
		{ BILL_RUNS, 405 },	     { BILL_STORED, 400 },
		{ BILL_LOST_TABLE, 5 },	     { BILL_LOST_RING, -1 },
		{ BILL_FILTERED, 0 },	     { BILL_THROTTLED, 0 },
		{ BILL_STACKS_CUT, 4 },	     { BILL_APART_RUNS, 125 },
		{ BILL_APART_STORED, 100 },  { BILL_APART_FILTERED, 20 },
		{ BILL_APART_LOST_RING, 3 }, { BILL_APART_LOST_DAMAGED, 2 },
		{ BILL_APART_THROTTLED, 1 },
	};
	for (size_t i = 0; i < COUNT_OF(expected); i++)
		assert_int_equal(billed(scene, "cpu-clock", CPU(0), expected[i].item),
				 expected[i].amount);
	/* Of what nobody hears of it is not known. */
	scene->samplers[CLOCK].throttles_silently = true;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "cpu-clock", CPU(0), BILL_THROTTLED), -1);
	session->counters.options.table = NULL;
	free_scene(scene);
}

/* What an interrupt takes may be known at the end only: then for all of the epoch, and for no
 * other. */
static void interrupts_wait_until_it_is_known_what_one_takes(void **state)
{
	(void)state;
	struct scene *scene = new_scene();
	struct ledger *ledger = &scene->ledger;
	struct lane *lane = counters_lane(&scene->session->counters, CLOCK, 0);
	/* a tick a second, since long ago: what matters is what is added */
	lane->periods.interrupts = 1000;
	write_bill(scene, true, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), -1);
	lane->periods.interrupts = 1300; /* another epoch */
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), -1);
	lane->periods.interrupts = 1400;
	ledger->cost_known = true;
	ledger->cost.ns = 5000;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), 400 * 5000);
	lane->periods.interrupts = 1500;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), 100 * 5000);
	/* Where it was measured for the budget, that counts; and a CPU that was away gives none
	 * back. */
	scene->session->overhead.sample_ns = 7000;
	lane->periods.interrupts = 1600;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), 100 * 7000);
	lane->periods.interrupts = 1590;
	write_bill(scene, false, false);
	assert_int_equal(billed(scene, "", OPTIONAL_ABSENT, BILL_INTERRUPT_NS), 0);
	free_scene(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupts_wait_until_it_is_known_what_one_takes),
		cmocka_unit_test(samples_apart_have_items_of_their_own),
		cmocka_unit_test(runs_are_the_sum_of_what_became_of_them),
		cmocka_unit_test(what_an_event_cannot_have_is_absent_and_not_0),
		cmocka_unit_test(the_time_of_cpus_is_that_between_two_bills),
		cmocka_unit_test(time_offline_is_no_idling_whatever_the_kernel_counts),
		cmocka_unit_test(a_clock_falls_short_of_the_busy_time_or_passes_it),
		cmocka_unit_test(tasks_alone_leave_the_clocks_unjudged),
		cmocka_unit_test(what_grows_is_billed_by_its_growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
