#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "bpf/sample_memory.h"
#include "bpf/user_stack.h"
#include "collect/edge_helper.h"
#include "collect/plan.h"
#include "machine/event.h"
#include "machine/pmu.h"
#include "support/skip.h"

struct world {
	struct event_list events;
	struct collect_options options;
	struct sample_memory memory;
	struct user_stack *walker;
	struct plan plan;
	struct error err;
	char notes[1024];
};

static void take_note(void *context, enum collect_note_kind kind, const char *sentence)
{
	struct world *world = context;
	(void)kind;
	strncat(world->notes, sentence, sizeof(world->notes) - strlen(world->notes) - 1);
}

/* Events of every machine, sampled at a rate that was asked for, so that nothing is measured. */
static void init(struct world *world, enum collect_target target, const char *events)
{
	struct pmu_list none = { 0 };
	*world = (struct world){ .memory = SAMPLE_MEMORY_CLOSED };
	assert_int_equal(event_list_parse(&world->events, &none, NULL, events, &world->err), 0);
	world->options = (struct collect_options){ .target = target,
						   .events = &world->events,
						   .frequency_hz = 1000,
						   .note = take_note,
						   .note_context = world };
}

static int make(struct world *world)
{
	plan_release(&world->plan);
	world->plan = (struct plan){ 0 };
	return plan_make(&world->plan, &world->options, &world->memory, &world->walker, &world->err);
}

static void release(struct world *world)
{
	plan_release(&world->plan);
	sample_memory_close(&world->memory);
	user_stack_free(world->walker);
	event_list_release(&world->events);
}

static void expect_refusal(struct world *world, int code, const char *sentence)
{
	assert_int_equal(make(world), code);
	assert_string_equal(world->err.text, sentence);
}

static void clocks_have_random_periods_around_the_rate(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "cpu-clock");
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, 1);
	assert_int_equal(w.plan.samplers[0].policy, PERIOD_RANDOM);
	assert_int_equal(w.plan.samplers[0].mean_period, period_mean_for(1e9, 1000, true));
	w.options.fixed_period = true;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.samplers[0].policy, PERIOD_FIXED);
	assert_int_equal(w.plan.samplers[0].mean_period,
			 period_prime(period_mean_for(1e9, 1000, false)));
	release(&w);
}

/* The kernel copies a period to new tasks: it cannot be drawn anew for each. */
static void tasks_inherit_one_period(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_TASKS, "cpu-clock");
	assert_int_equal(make(&w), 0);
	assert_true(w.plan.inherit && w.plan.counters.inherit && !w.plan.follow);
	assert_int_equal(w.plan.samplers[0].policy, PERIOD_FIXED);
	/* A command is followed one way or the other, and what cannot be random is said. */
	w.options.target = COLLECT_COMMAND;
	assert_int_equal(make(&w), 0);
	assert_true(w.plan.inherit != w.plan.follow);
	assert_int_equal(w.plan.inherit,
			 strstr(w.notes, "inherit one fixed period instead of random") != NULL);
	assert_int_equal(w.plan.samplers[0].policy, w.plan.inherit ? PERIOD_FIXED : PERIOD_RANDOM);
	release(&w);
}

static void what_an_event_says_itself_goes_before(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "page-faults,context-switches");
	w.options.frequency_hz = 0;
	w.options.period = 7;
	w.events.events[1].attr.sample_period = 11;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.samplers[0].policy, PERIOD_FIXED);
	assert_int_equal(w.plan.samplers[0].mean_period, 7);
	assert_int_equal(w.plan.samplers[1].mean_period, 11);
	w.events.events[1].attr.freq = 1;
	w.events.events[1].attr.sample_freq = 50;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.samplers[1].policy, PERIOD_FREQUENCY);
	assert_true(w.plan.samplers[1].frequency_hz == 50);
	release(&w);
}

static void a_group_is_sampled_by_its_leader(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "{cpu-clock,page-faults,context-switches},minor-faults");
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(w.plan.samplers[i].leader, i < 3 ? 0 : 3);
		assert_int_equal(w.plan.samplers[i].sampled, i == 0 || i == 3);
		assert_int_equal(w.plan.samplers[i].group_size, i == 0 ? 3 : 1);
	}
	assert_int_equal(w.plan.samplers[1].mean_period, 0);
	/* Of tasks that are followed by inheritance only newer kernels can read a group. */
	w.options.target = COLLECT_TASKS;
	int expected = w.plan.features.inherit_read_tid == FACT_YES ? 0 : -EOPNOTSUPP;
	assert_int_equal(make(&w), expected);
	/* Where nobody asked for the group, what there is of it is taken. */
	w.options.default_events = true;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, expected ? 2 : 4);
	if (expected) {
		assert_string_equal(w.plan.samplers[0].name, "cpu-clock");
		assert_string_equal(w.plan.samplers[1].name, "minor-faults");
		assert_int_equal(w.plan.samplers[1].leader, 1);
		assert_true(w.plan.samplers[0].group_size == 1 && w.plan.samplers[1].sampled);
		assert_non_null(strstr(w.notes, "'cpu-clock' is sampled alone"));
	}
	release(&w);
}

static void a_marked_member_is_sampled_in_its_leaders_place(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "minor-faults,{cpu-clock,page-faults:S,context-switches}");
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(w.plan.samplers[i].leader, i ? 1 : 0);
		assert_int_equal(w.plan.samplers[i].sampled_by, i ? 2 : 0);
		assert_int_equal(w.plan.samplers[i].sampled, i == 0 || i == 2);
		assert_int_equal(w.plan.samplers[i].group_size, i == 1 || i == 2 ? 3 : 1);
		assert_int_equal(w.plan.samplers[i].mean_period != 0, i == 0 || i == 2);
	}
	/* As for any group: nothing else is asked of kernels that cannot inherit it. */
	w.options.target = COLLECT_TASKS;
	w.options.default_events = true;
	assert_int_equal(make(&w), 0);
	if (w.plan.features.inherit_read_tid != FACT_YES) {
		assert_int_equal(w.plan.sampler_count, 2);
		assert_string_equal(w.plan.samplers[1].name, "page-faults:S");
		assert_int_equal(w.plan.samplers[1].leader, 1);
		assert_int_equal(w.plan.samplers[1].sampled_by, 1);
	}
	release(&w);
}

/* What makes an event one of slots is asked in machine's tests. */
static void slots_are_read_by_the_first_event_that_can_be_sampled(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "{minor-faults,page-faults,context-switches}:S");
	w.events.events[0].slots = EVENT_SLOTS;
	w.events.events[1].slots = EVENT_SLOTS_METRIC;
	assert_int_equal(make(&w), 0);
	assert_true(w.plan.samplers[2].sampled && !w.plan.samplers[0].sampled);
	w.events.events[2].slots = EVENT_SLOTS_METRIC;
	expect_refusal(&w, -EINVAL,
		       "slots and topdown events cannot be sampled when they are a group: it takes "
		       "another event in it, as {slots,cycles,topdown-retiring}");
	release(&w);
}

static void clocks_of_tasks_are_interpreted_and_what_is_asked(void **state)
{
	(void)state;
	struct world w;
	bool can = edge_registers() != 0;
	init(&w, COLLECT_TASKS, "cpu-clock,page-faults");
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.samplers[0].edges, can);
	assert_false(w.plan.samplers[1].edges);
	assert_int_equal(w.plan.edges, can);
	w.options.edges = COLLECT_EDGES_NONE;
	assert_int_equal(make(&w), 0);
	assert_false(w.plan.edges || w.plan.samplers[0].edges);
	w.options.edges = COLLECT_EDGES_ALL;
	assert_int_equal(make(&w), can ? 0 : -EOPNOTSUPP);
	assert_int_equal(w.plan.samplers[1].edges, can);
	/* Kernel code has no registers that we may have. */
	w.options.edges = COLLECT_EDGES_USUAL;
	w.options.kernel_only = true;
	assert_int_equal(make(&w), 0);
	assert_false(w.plan.edges);
	w.options.kernel_only = false;
	w.options.target = COLLECT_SYSTEM;
	assert_int_equal(make(&w), 0);
	assert_false(w.plan.edges);
	release(&w);
}

static void interpreting_has_its_part_of_the_budget(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_TASKS, "cpu-clock");
	w.options.overhead_percent = 2;
	assert_int_equal(make(&w), 0);
	assert_true(w.plan.edge_ratio == 0.02); /* all of it beside a rate that was asked for */
	w.options.frequency_hz = 0;
	w.options.period = 1000000; /* so was this */
	assert_int_equal(make(&w), 0);
	assert_true(w.plan.edge_ratio == 0.02);
	release(&w);
}

/* Events that are all sampled share what the budget buys. */
static void events_share_the_budget(void **state)
{
	(void)state;
	for (int events = 1; events <= 2; events++) {
		struct world w;
		init(&w, COLLECT_SYSTEM, events == 1 ? "cpu-clock" : "cpu-clock,task-clock");
		w.options.frequency_hz = 0;
		w.options.overhead_percent = 4;
		assert_int_equal(make(&w), 0);
		double cost_us = 0, percent = 0;
		unsigned long rate = 0;
		if (sscanf(w.notes, "a sample costs %lf us here: %lf %% of a CPU buys %lu",
			   &cost_us, &percent, &rate) != 3) {
			release(&w);
			SKIP("the cost of a sample cannot be measured here");
		}
		assert_int_equal(strstr(w.notes, " of each of 2 events") != NULL, events == 2);
		double bought = 0.04 * 1e6 / cost_us / events;
		bought = bought < 99 ? 99 : bought > 4999 ? 4999 : bought;
		/* the note has the cost to a tenth of a us */
		assert_true((double)rate >= bought / (1 + 0.06 / cost_us) - 1 &&
			    (double)rate <= bought / (1 - 0.06 / cost_us) + 1);
		for (int i = 0; i < events; i++)
			assert_int_equal(w.plan.samplers[i].mean_period,
					 period_mean_for(1e9, (double)rate, true));
		release(&w);
	}
}

static enum collect_engine chosen(struct world *world)
{
	assert_int_equal(make(world), 0);
	return world->plan.engine;
}

/* Samples are counted in the kernel unless more than their places is wanted. */
static void the_engine_is_chosen_by_what_is_wanted(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "cpu-clock,page-faults");
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING); /* no clock */
	release(&w);
	init(&w, COLLECT_SYSTEM, "cpu-clock,task-clock");
	assert_int_equal(chosen(&w), COLLECT_ENGINE_BPF);
	w.options.engine = COLLECT_ENGINE_RING;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	w.options.engine = COLLECT_ENGINE_USUAL;
	w.options.stacks = COLLECT_STACKS_FRAME_POINTERS;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	assert_int_equal(w.plan.sampler_count, 2); /* nothing apart */
	w.options.stacks = COLLECT_STACKS_NONE;
	if (edge_registers()) {
		w.options.edges = COLLECT_EDGES_ALL;
		assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
		w.options.edges = COLLECT_EDGES_USUAL;
	}
	w.options.ring_pages = 16;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	w.options.ring_pages = 0;
	w.options.target = COLLECT_COMMAND;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	w.options.target = COLLECT_TASKS;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	release(&w);

	init(&w, COLLECT_SYSTEM, "{cpu-clock,page-faults},context-switches");
	assert_int_equal(chosen(&w), COLLECT_ENGINE_RING);
	assert_int_equal(w.plan.samplers[0].group_size, 2);
	w.options.engine = COLLECT_ENGINE_BPF;
	expect_refusal(&w, -EOPNOTSUPP,
		       "samples cannot be counted in the kernel: groups are read with samples that "
		       "come through rings");
	/* Where nobody asked for the group, each of its events is sampled. */
	w.options.default_events = true;
	assert_int_equal(chosen(&w), COLLECT_ENGINE_BPF);
	for (size_t i = 0; i < 3; i++) {
		assert_true(w.plan.samplers[i].sampled);
		assert_int_equal(w.plan.samplers[i].leader, i);
		assert_int_equal(w.plan.samplers[i].sampled_by, i);
		assert_int_equal(w.plan.samplers[i].group_size, 1);
	}
	assert_true(w.plan.samplers[1].frequency_hz == 1000);
	release(&w);
}

/* A table in the kernel has no room for stacks and registers: the event is sampled once more for
 * them. */
static void what_is_counted_in_the_kernel_has_its_stacks_apart(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "cpu-clock,page-faults");
	w.options.engine = COLLECT_ENGINE_BPF;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, 2); /* nobody asked for them */
	assert_false(w.plan.samplers[0].apart || w.plan.samplers[0].stacks);

	w.options.stacks = COLLECT_STACKS_FRAME_POINTERS;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.sampler_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct sampler *sampler = &w.plan.samplers[i];
		assert_int_equal(sampler->apart, i >= 2);
		assert_int_equal(sampler->stacks, i >= 2);
		assert_false(sampler->edges);
		assert_true(sampler->sampled && sampler->leader == i && sampler->sampled_by == i);
		if (i < 2)
			continue;
		const struct sampler *beside = &w.plan.samplers[sampler->beside];
		assert_int_equal(sampler->beside, i - 2);
		assert_string_equal(sampler->name, beside->name);
		assert_int_equal(sampler->policy, beside->policy);
		assert_int_equal(sampler->mean_period, 4 * beside->mean_period);
		assert_true(sampler->frequency_hz == beside->frequency_hz / 4);
	}
	assert_true(w.plan.samplers[1].frequency_hz == 1000);

	w.options.apart_hz = 20;
	assert_int_equal(make(&w), 0);
	assert_in_range(w.plan.samplers[2].mean_period, 49 * w.plan.samplers[0].mean_period,
			56 * w.plan.samplers[0].mean_period); /* random ones are somewhat longer */
	assert_true(w.plan.samplers[3].frequency_hz == 20);

	/* Of given periods it is no multiple. */
	w.options.apart_hz = 0;
	w.options.fixed_period = true;
	w.options.period = 1000000;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.samplers[0].mean_period, 1000000);
	assert_int_equal(w.plan.samplers[2].mean_period, period_prime(4000000));

	/* Interpreted are those apart alone. */
	w.options.stacks = COLLECT_STACKS_NONE;
	w.options.edges = COLLECT_EDGES_ALL;
	if (edge_registers()) {
		assert_int_equal(make(&w), 0);
		assert_int_equal(w.plan.sampler_count, 4);
		for (size_t i = 0; i < 4; i++)
			assert_true(w.plan.samplers[i].edges == (i >= 2) &&
				    !w.plan.samplers[i].stacks);
	}
	release(&w);
}

static void what_cannot_be_is_refused_with_its_name(void **state)
{
	(void)state;
	struct world w;
	init(&w, COLLECT_SYSTEM, "cpu-clock:u");
	w.options.cpus = "0,4095";
	expect_refusal(&w, -ENODEV, "CPU 4095 is not online");
	w.options.cpus = "";
	expect_refusal(&w, -EINVAL, "no CPU is named in ''");
	w.options.cpus = NULL;
	w.options.ring_pages = 6;
	expect_refusal(&w, -EINVAL, "6 ring pages are no power of two");
	w.options.ring_pages = 8;
	w.options.kernel_only = true;
	expect_refusal(&w, -EINVAL,
		       "'cpu-clock:u' leaves nothing to sample: both user and kernel code are "
		       "excluded");
	w.options.kernel_only = false;
	assert_int_equal(make(&w), 0);
	assert_int_equal(w.plan.counters.sample_pages, 8);
	w.events.events[0].uncore = true;
	expect_refusal(
		&w, -EOPNOTSUPP,
		"'cpu-clock:u' counts for a whole socket and cannot be sampled, only counted");
	w.events.count = 0;
	expect_refusal(&w, -EINVAL, "no event to sample");
	release(&w);
	init(&w, COLLECT_SYSTEM, "cpu-clock");
	w.options.stacks = COLLECT_STACKS_BRANCHES;
	expect_refusal(&w, -EOPNOTSUPP,
		       "'cpu-clock' cannot be sampled with the calls that the CPU keeps "
		       "(--call-graph lbr): that takes an event of a PMU with branch records "
		       "(Intel's since Haswell; few virtual machines have them); --call-graph eh "
		       "takes none");
	release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_have_random_periods_around_the_rate),
		cmocka_unit_test(tasks_inherit_one_period),
		cmocka_unit_test(what_an_event_says_itself_goes_before),
		cmocka_unit_test(a_group_is_sampled_by_its_leader),
		cmocka_unit_test(a_marked_member_is_sampled_in_its_leaders_place),
		cmocka_unit_test(slots_are_read_by_the_first_event_that_can_be_sampled),
		cmocka_unit_test(clocks_of_tasks_are_interpreted_and_what_is_asked),
		cmocka_unit_test(interpreting_has_its_part_of_the_budget),
		cmocka_unit_test(events_share_the_budget),
		cmocka_unit_test(the_engine_is_chosen_by_what_is_wanted),
		cmocka_unit_test(what_is_counted_in_the_kernel_has_its_stacks_apart),
		cmocka_unit_test(what_cannot_be_is_refused_with_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
