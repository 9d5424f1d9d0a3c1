/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_make.h"
#include "analyze/report/row_search.h"
#include "analyze/names/resolve.h"
#include "base/error.h"
#include "profile/bill.h"
#include "support/random_profile.h"
#include "support/test_profile.h"

struct made {
	struct resolver *resolver;
	struct report *report;
	struct error err;
	int ret;
};

static struct made make(const struct profile *profile, struct report_options options)
{
	struct made made = { 0 };
	struct resolver_options naming = { .stash_only = true };
	assert_int_equal(resolver_new(profile, &naming, &made.resolver, &made.err), 0);
	if (options.part_count == 0)
		options.parts[options.part_count++] = REPORT_PROCEDURE;
	made.ret = report_new(profile, made.resolver, &options, &made.report, &made.err);
	return made;
}

static void done(struct made *made)
{
	report_free(made->report);
	resolver_free(made->resolver);
}

/* Rows as "name total/self" (or "name self"), in order. */
static const char *spell(const struct report *report, char *text, size_t size)
{
	size_t used = 0;
	text[0] = 0;
	for (size_t i = 0; i < report->row_count && used < size; i++) {
		const struct report_row *row = &report->rows[i];
		used += (size_t)snprintf(text + used, size - used, "%s%*s%s ", i ? ", " : "",
					 (int)row->depth, "", row->texts[REPORT_PROCEDURE]);
		if (row->total)
			used += (size_t)snprintf(text + used, size - used, "%d/",
						 (int)row->total[0].samples);
		used += (size_t)snprintf(text + used, size - used, "%d", (int)row->self[0].samples);
	}
	return text;
}

#define assert_rows(made, wanted)                                                                  \
	do {                                                                                       \
		char text_[2048];                                                                  \
		assert_string_equal((made).err.text, "");                                          \
		assert_int_equal((made).ret, 0);                                                   \
		assert_string_equal(spell((made).report, text_, sizeof(text_)), wanted);           \
	} while (0)

static struct test_profile recursive(void)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_stack(&test, "main;f;g;f;g", 8, 100);
	test_stack(&test, "main;g;f", 4, 100);
	test_stack(&test, "main;h", 2, 100);
	test_flat(&test, "h", 1, 100); /* without a stack */
	return test;
}

static void a_search_keeps_rows_whose_names_hold_the_text(void **state)
{
	(void)state;
	static const struct {
		const char *text, *rows;
	} searches[] = {
		{ "", "main_loop 5, Other 3, l 1" },
		{ "LOOP", "main_loop 5" },
		{ "o", "main_loop 5, Other 3" },
		{ "nothing", "" },
		{ "main_loops", "" },
		{ "l", "main_loop 5, l 1" },
	};
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_flat(&test, "main_loop", 5, 100);
	test_flat(&test, "Other", 3, 100);
	test_flat(&test, "l", 1, 100);
	for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++) {
		struct made made = make(test.profile, (struct report_options){ 0 });
		report_search_rows(made.report, searches[i].text);
		assert_rows(made, searches[i].rows);
		assert_int_equal(made.report->whole[0].samples, 9);
		done(&made);
	}
	profile_free(test.profile);
}

static void a_recursive_procedure_counts_once_a_stack(void **state)
{
	(void)state;
	struct test_profile test = recursive();
	struct made made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_rows(made, "main 14/0, g 12/8, f 12/4, h 3/3");
	assert_int_equal(made.report->without_stack[0].samples, 1);
	done(&made);
	profile_free(test.profile);
}

static void samples_of_stacks_are_not_doubled_by_flat(void **state)
{
	(void)state;
	static const enum report_view views[] = { REPORT_FLAT, REPORT_INCLUSIVE, REPORT_TREE };
	struct test_profile test = recursive();
	for (size_t i = 0; i < 3; i++) {
		struct made made = make(test.profile, (struct report_options){ .view = views[i] });
		assert_int_equal(made.report->whole[0].samples, 15);
		assert_int_equal(made.report->whole[0].estimate, 1500);
		uint64_t self = 0;
		for (size_t row = 0; row < made.report->row_count; row++)
			self += made.report->rows[row].self[0].samples;
		assert_int_equal(self, 15);
		done(&made);
	}
	profile_free(test.profile);
}

static void a_tree_has_a_row_a_path(void **state)
{
	(void)state;
	struct test_profile test = recursive();
	struct made made = make(test.profile, (struct report_options){ .view = REPORT_TREE });
	assert_rows(made, "main 14/0,  f 8/0,   g 8/0,    f 8/0,     g 8/8,  g 4/0,   f 4/4,"
			  "  h 2/2, [no stack] 1/0,  h 1/1");
	done(&made);
	profile_free(test.profile);
}

static void callers_and_callees_start_at_the_outermost_call(void **state)
{
	(void)state;
	struct test_profile test = recursive();
	struct report_options options = { .view = REPORT_CALLERS, .procedure = "f" };
	struct made made = make(test.profile, options);
	assert_rows(made, "f 12/0,  main 8/8,  g 4/0,   main 4/4");
	done(&made);
	options.procedure = "h";
	made = make(test.profile, options);
	assert_rows(made, "h 3/0,  main 2/2,  [no stack] 1/1");
	done(&made);
	options = (struct report_options){ .view = REPORT_CALLEES, .procedure = "f" };
	made = make(test.profile, options);
	assert_rows(made, "f 12/4,  g 8/0,   f 8/0,    g 8/8");
	done(&made);
	profile_free(test.profile);
}

static void a_procedure_is_found_by_a_part_that_only_it_has(void **state)
{
	(void)state;
	struct test_profile test = recursive();
	struct report_options options = { .view = REPORT_CALLEES, .procedure = "ai" };
	struct made made = make(test.profile, options);
	assert_int_equal(made.ret, 0);
	done(&made);
	test_stack(&test, "mail", 1, 100);
	made = make(test.profile, options);
	assert_int_equal(made.ret, -EINVAL);
	assert_string_equal(made.err.text, "'ai' may mean several procedures: mail, main");
	done(&made);
	options.procedure = "nobody";
	made = make(test.profile, options);
	assert_int_equal(made.ret, -ENOENT);
	done(&made);
	profile_free(test.profile);
}

static void focus_and_ignore_choose_whole_stacks(void **state)
{
	(void)state;
	struct test_profile test = recursive();
	struct made made = make(test.profile, (struct report_options){ .focus = "^f$" });
	assert_rows(made, "g 8, f 4");
	assert_int_equal(made.report->shown[0].samples, 12);
	assert_int_equal(made.report->whole[0].samples, 15);
	done(&made);
	made = make(test.profile, (struct report_options){ .ignore = "^f$" });
	assert_rows(made, "h 3");
	done(&made);
	made = make(test.profile, (struct report_options){ .focus = "main", .ignore = "h|^f$" });
	assert_rows(made, "");
	done(&made);
	profile_free(test.profile);
}

static void views_of_stacks_need_stacks(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_flat(&test, "main", 5, 100);
	struct made made = make(test.profile, (struct report_options){ .view = REPORT_TREE });
	assert_int_equal(made.ret, -ENODATA);
	assert_string_equal(made.err.text, "the profile has no call stacks, which --tree needs; "
					   "'culprit record -g' keeps them");
	done(&made);
	profile_free(test.profile);
}

static void inlined_functions_are_procedures_of_stacks(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_inlined_code(&test);
	test_stack_address(&test, 0x110, 3, 100);
	test_stack_address(&test, 0x150, 5, 100);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_rows(made, "outer 8");
	done(&made);
	made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_rows(made, "outer 8/3, inner 5/5");
	assert_int_equal(made.report->rows[0].marks & PLACE_INLINED, 0);
	assert_int_not_equal(made.report->rows[1].marks & PLACE_INLINED, 0);
	done(&made);
	made = make(test.profile, (struct report_options){ .view = REPORT_TREE });
	assert_rows(made, "outer 8/3,  inner 5/5");
	done(&made);
	made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE,
							   .inlined = REPORT_INLINED_FOLDED });
	assert_rows(made, "outer 8/8");
	done(&made);
	made = make(test.profile,
		    (struct report_options){ .parts = { REPORT_LINE }, .part_count = 1 });
	assert_rows(made, "inner 5, outer 3");
	assert_int_equal(made.report->rows[0].line, optional_of(3));
	assert_int_equal(made.report->rows[1].line, optional_of(10));
	assert_string_equal(made.report->rows[1].texts[REPORT_LINE], "app.c");
	done(&made);
	profile_free(test.profile);
}

static void an_event_is_chosen_with_or_without_its_modifiers(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	static const char *const names[] = { "cycles:u", "cpu/cache-misses/k", "instructions" };
	for (size_t i = 0; i < 3; i++) {
		test_event(&test, names[i], 100);
		test_flat(&test, "f", i + 1, 100);
	}
	static const struct {
		const char *pattern;
		size_t columns;
	} asked[] = { { "cycles", 1 },	     { "cycles:u", 1 }, { "cache-misses", 1 },
		      { "instructions", 1 }, { "c*", 2 },	{ "cycles:k", 0 },
		      { "cyc", 0 } };
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct made made =
			make(test.profile,
			     (struct report_options){ .events = { &asked[i].pattern, 1 } });
		if (asked[i].columns == 0)
			assert_int_equal(made.ret, -ENOENT);
		else
			assert_int_equal(made.report->columns.count, asked[i].columns);
		done(&made);
	}
	profile_free(test.profile);
}

static void events_of_one_name_add_up_and_core_types_stay_apart(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	struct profile_event event = { .name = span_of_text("cycles"),
				       .pmu = span_of_text("cpu_core"),
				       .core_type = span_of_text("core"),
				       .policy = PERIOD_FIXED,
				       .period = 100,
				       .sampled = 1 };
	test_event_full(&test, &event);
	test_flat(&test, "f", 3, 100);
	event.period = 1000;
	test_event_full(&test, &event);
	test_flat(&test, "f", 2, 1000);
	event.pmu = span_of_text("cpu_atom");
	event.core_type = span_of_text("atom");
	test_event_full(&test, &event);
	test_flat(&test, "f", 7, 1000);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.report->columns.count, 2);
	assert_int_equal(made.report->row_count, 1);
	assert_int_equal(made.report->rows[0].self[0].estimate, 7000); /* cpu_atom */
	assert_int_equal(made.report->rows[0].self[1].estimate, 2300);
	assert_int_equal(made.report->rows[0].self[1].samples, 5);
	assert_int_equal(made.report->columns.list[1].period_least, 100);
	assert_int_equal(made.report->columns.list[1].period_most, 1000);
	done(&made);
	profile_free(test.profile);
}

static void add_pair(struct test_profile *test, const char *pmu, uint64_t cycles,
		     uint64_t instructions)
{
	struct profile_event event = { .name = span_of_text("cycles"),
				       .pmu = span_of_text(pmu),
				       .core_type = span_of_text(pmu),
				       .policy = PERIOD_FIXED,
				       .sampled = 1 };
	test_event_full(test, &event);
	test_flat(test, "f", cycles, 1000);
	event.name = span_of_text("instructions");
	event.config = 1;
	test_event_full(test, &event);
	test_flat(test, "f", instructions, 1000);
}

static void cpi_is_of_one_core_type(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	add_pair(&test, "cpu_core", 1000, 2000);
	add_pair(&test, "cpu_atom", 3000, 1000);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.report->columns.pair_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct event_pair *pair = &made.report->columns.pairs[i];
		const struct event_column *cycles = &made.report->columns.list[pair->cycles];
		bool atom = span_equal(cycles->core_type, span_of_text("cpu_atom"));
		struct estimate cpi = report_cpi(made.report, made.report->rows[0].self, i);
		assert_int_equal(cpi.kind, ESTIMATE_INTERVAL);
		assert_true(fabs(cpi.value - (atom ? 3 : 0.5)) < 1e-12);
		assert_true(cpi.low < cpi.value && cpi.value < cpi.high);
	}
	done(&made);
	profile_free(test.profile);
}

static void cpi_needs_both_events_of_one_privilege(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	struct profile_event event = { .name = span_of_text("cycles:u"),
				       .policy = PERIOD_FIXED,
				       .exclude = EXCLUDE_KERNEL,
				       .sampled = 1 };
	test_event_full(&test, &event);
	test_flat(&test, "f", 10, 100);
	event.name = span_of_text("instructions");
	event.exclude = 0;
	test_event_full(&test, &event);
	test_flat(&test, "f", 10, 100);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_int_equal(made.report->columns.pair_count, 0);
	done(&made);
	made = make(test.profile, (struct report_options){ .sort = "cpi" });
	assert_int_equal(made.ret, -ENODATA);
	done(&made);
	profile_free(test.profile);
}

static void a_part_that_was_not_kept_is_one_row_without_a_text(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	for (uint64_t i = 0; i < 3; i++) {
		char comm[] = { 'a' + (char)i, 0 };
		struct profile_context context = { .comm = span_of_text(comm) };
		test_context(&test, &context);
		test_flat(&test, "f", i + 1, 100);
	}
	static const enum report_part parts[] = { REPORT_CPU, REPORT_CGROUP };
	for (size_t i = 0; i < 2; i++) {
		struct made made =
			make(test.profile,
			     (struct report_options){ .parts = { parts[i] }, .part_count = 1 });
		assert_int_equal(made.ret, 0);
		assert_int_equal(made.report->row_count, 1);
		assert_null(made.report->rows[0].texts[parts[i]]);
		assert_int_equal(made.report->rows[0].cpu, OPTIONAL_ABSENT);
		assert_int_equal(made.report->rows[0].self[0].samples, 6);
		assert_int_equal(made.report->note_count, 1);
		done(&made);
	}
	profile_free(test.profile);
}

static void filters_of_one_kind_widen_and_of_two_narrow(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	static const char *const comms[] = { "make", "cc1", "cc1plus" };
	for (uint64_t i = 0; i < 3; i++) {
		struct profile_context context = { .comm = span_of_text(comms[i]),
						   .cpu = optional_of(i) };
		test_context(&test, &context);
		test_flat(&test, comms[i], i + 1, 100);
	}
	const char *const both[] = { "make", "cc1" };
	const char *const glob[] = { "cc1*" };
	struct made made = make(test.profile, (struct report_options){ .processes = { both, 2 } });
	assert_rows(made, "cc1 2, make 1");
	done(&made);
	made = make(test.profile,
		    (struct report_options){ .processes = { glob, 1 }, .cpus = "0-1" });
	assert_rows(made, "cc1 2");
	assert_int_equal(made.report->whole[0].samples, 6);
	done(&made);
	profile_free(test.profile);
}

static void the_idle_loop_is_no_procedure(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_image(&test, IMAGE_KERNEL, "[kernel]", "\1\2\3\4");
	test_flat(&test, "intel_idle_ibrs", 50, 100);
	test_flat(&test, "do_syscall_64", 5, 100);
	test_image(&test, IMAGE_FILE, "/bin/game", "\5\6\7\10");
	test_flat(&test, "default_idle", 3, 100); /* a program's own */
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_rows(made, "do_syscall_64 5, default_idle 3");
	assert_int_equal(made.report->whole[0].samples, 8);
	assert_int_equal(made.report->idle[0].samples, 50);
	done(&made);
	profile_free(test.profile);
}

static void late_samples_are_those_of_clocks(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_source(&test, "host", 2, 1000);
	test_image(&test, IMAGE_KERNEL, "[kernel]", "\1\2\3\4");
	test_event(&test, "cycles", 100); /* by NMI on x86 */
	test_flat(&test, "_raw_spin_unlock_irqrestore", 50, 100);
	struct profile_event clock = { .name = span_of_text("cpu-clock"),
				       .clock = EVENT_CLOCK,
				       .sampled = 1 };
	test_event_full(&test, &clock);
	test_flat(&test, "_raw_spin_unlock_irqrestore", 20, 100);
	test_flat(&test, "finish_task_switch.isra.0", 30, 100);
	test_flat(&test, "memset", 50, 100);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct scope *scope = &made.report->scope;
	assert_int_equal(scope->late_samples, 50);
	assert_int_equal(scope->late_of, 100);
	assert_int_equal(scope->late_count, 2);
	assert_int_equal(scope->late[0].samples, 30);
	assert_string_equal(places_procedure(made.report->places, scope->late[0].procedure)->name,
			    "finish_task_switch.isra.0");
	done(&made);
	profile_free(test.profile);
}

static void rows_left_out_are_summed_up(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	for (uint64_t i = 1; i <= 10; i++) {
		char name[] = { 'a' + (char)i, 0 };
		test_flat(&test, name, i, 100);
	}
	struct made made = make(test.profile, (struct report_options){ .limit = 2 });
	assert_rows(made, "k 10, j 9");
	assert_int_equal(made.report->rest_count, 8);
	assert_int_equal(made.report->rest[0].samples, 36);
	done(&made);
	made = make(test.profile, (struct report_options){ .min_percent = 15 });
	assert_rows(made, "k 10, j 9"); /* of 55: 18 %, 16 %, then 14.5 % */
	done(&made);
	profile_free(test.profile);
}

static void lost_samples_follow_from_the_overflows(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	uint32_t event = test_event(&test, "cycles", 100);
	test_flat(&test, "f", 5, 100);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_false(scope_lost(&made.report->scope.bills[0]).known);
	done(&made);
	test_bill(&test, event, BILL_RUNS, 12);
	test_bill(&test, event, BILL_STORED, 5);
	test_bill(&test, event, BILL_FILTERED, 4);
	made = make(test.profile, (struct report_options){ 0 });
	struct scope_number lost = scope_lost(&made.report->scope.bills[0]);
	assert_true(lost.known);
	assert_int_equal(lost.value, 3);
	done(&made);
	test_bill(&test, event, BILL_LOST_RING, 2);
	test_bill(&test, event, BILL_LOST_SKIPPED, 1);
	made = make(test.profile, (struct report_options){ 0 });
	assert_int_equal(scope_lost(&made.report->scope.bills[0]).value, 3);
	assert_int_equal(made.report->scope.bills[0].lost[0].samples, 2);
	done(&made);
	profile_free(test.profile);
}

static void assert_only_note(const struct report *report, const char *wanted)
{
	assert_int_equal(report->note_count, wanted ? 1 : 0);
	if (wanted)
		assert_string_equal(report->notes[0], wanted);
}

static void a_machine_busier_than_its_cpus_can_be_is_not_known(void **state)
{
	(void)state;
	static const struct {
		uint64_t busy_ns;
		double ratio, mean;
		const char *note;
	} cases[] = {
		{ UINT64_C(10000000000), 0.5, 1, NULL },
		{ UINT64_C(20030000000), 1, 2, NULL }, /* by ticks of 10 ms */
		{ UINT64_C(60000000000), -1, -1,
		  "the profile contradicts itself: its CPUs were busy for longer than they were "
		  "there, so how busy is not known" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_profile test = test_profile_new();
		test_event(&test, "cycles", 100);
		test_flat(&test, "f", 5, 100);
		test_source(&test, "web7", 2, UINT64_C(10000000000));
		test_bill(&test, 0, BILL_ONLINE_NS, UINT64_C(20000000000));
		test_bill(&test, 0, BILL_BUSY_NS, cases[i].busy_ns);
		struct made made = make(test.profile, (struct report_options){ 0 });
		assert_true(scope_busy_ratio(&made.report->scope) == cases[i].ratio);
		assert_true(scope_mean_busy_cpus(&made.report->scope) == cases[i].mean);
		assert_only_note(made.report, cases[i].note);
		done(&made);
		profile_free(test.profile);
	}
}

static void a_bill_that_does_not_add_up_is_said(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	uint32_t event = test_event(&test, "cycles", 100);
	test_flat(&test, "f", 5, 100);
	test_bill(&test, event, BILL_RUNS, 12);
	test_bill(&test, event, BILL_STORED, 5);
	test_bill(&test, event, BILL_LOST_RING, 50);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_only_note(made.report,
			 "the bill of 'cycles' does not add up: 50 samples lost, 12 overflows");
	done(&made);
	profile_free(test.profile);
}

static void times_that_pass_64_bits_are_not_known(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	uint32_t event = test_event(&test, "cycles", 100);
	test_flat(&test, "f", 5, 100);
	test_source(&test, "web7", 2, UINT64_MAX / 2);
	test_source(&test, "web8", 2, UINT64_MAX / 2 + 2);
	for (int i = 0; i < 3; i++) {
		test_bill(&test, event, BILL_ENABLED_NS, UINT64_MAX / 2);
		test_bill(&test, event, BILL_RUNNING_NS, 7);
	}
	struct made made = make(test.profile, (struct report_options){ 0 });
	const struct scope_bill *bill = &made.report->scope.bills[0];
	assert_false(bill->enabled_ns.known);
	assert_true(bill->running_ns.known && bill->running_ns.value == 21);
	assert_true(made.report->scope.duration_passed);
	assert_int_equal(made.report->scope.duration_ns, 0);
	assert_only_note(made.report,
			 "some sums of times and losses pass 64 bits and are not known");
	done(&made);
	profile_free(test.profile);
}

/* Flat should have every sample of the stacks: here it has others. */
static struct test_profile stacks_of_others(uint64_t flat_samples, uint64_t stack_samples)
{
	struct test_profile test = test_profile_new();
	uint32_t event = test_event(&test, "cycles", 1), node;
	test_flat(&test, "f", flat_samples, 1);
	struct profile_frame frame = { .vaddr = 0x1000 };
	struct cell cell = { stack_samples, stack_samples, stack_samples };
	assert_int_equal(profile_add_node(test.profile, 0, &frame, &node), 0);
	assert_int_equal(profile_add_stack(test.profile, event, 0, node, &cell), 0);
	return test;
}

static void stacks_that_are_not_of_the_samples_are_said(void **state)
{
	(void)state;
	struct test_profile test = stacks_of_others(3, 4);
	struct made made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_only_note(made.report, "the profile contradicts itself: 4 samples have a call "
				      "stack, of 3 samples in all");
	done(&made);
	profile_free(test.profile);
	test = stacks_of_others(UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1);
	made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_int_equal(made.ret, -EOVERFLOW);
	assert_string_equal(made.err.text,
			    "the profile contradicts itself: its call stacks are not of its "
			    "samples, and both together pass 64 bits");
	done(&made);
	profile_free(test.profile);
}

/* What is counted in the kernel has its stacks from samples of their own: a report shows the one or
 * the other, and neither takes anything off the other. An event beside, whose stacks are of its
 * samples, still has its rest without a stack. */
static void stacks_apart_are_another_view_and_no_part(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	const struct profile_event counted = { .name = span_of_text("cycles"),
					       .unit = span_of_text("events"),
					       .policy = PERIOD_RANDOM,
					       .period = 100,
					       .sampled = 1,
					       .apart = 1 };
	test_event_full(&test, &counted);
	test_flat(&test, "f", 70, 100);
	test_flat(&test, "g", 30, 100);

	struct profile_frame frame = { 0 };
	const struct cell cell = test_cell(120, 84); /* more than were counted: no contradiction */
	uint32_t node;
	assert_int_equal(profile_add_text(test.profile, "main", &frame.name), 0);
	assert_int_equal(profile_add_node(test.profile, 0, &frame, &node), 0);
	assert_int_equal(profile_add_text(test.profile, "f", &frame.name), 0);
	assert_int_equal(profile_add_node(test.profile, node, &frame, &node), 0);
	assert_int_equal(profile_add_stack(test.profile, test.event, 0, node, &cell), 0);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_rows(made, "f 70, g 30");
	assert_int_equal(made.report->note_count, 0);
	done(&made);
	made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_rows(made, "f 120/120, main 120/0");
	assert_int_equal(made.report->shown[0].estimate, 120 * 84);
	assert_int_equal(made.report->without_stack[0].estimate, 0);
	assert_int_equal(made.report->note_count, 0);
	done(&made);

	/* The same event of another recording, whose stacks are of its samples. */
	test_event(&test, "cycles", 7);
	test_stack(&test, "main;f", 5, 7);
	test_flat(&test, "g", 3, 7);
	made = make(test.profile, (struct report_options){ .view = REPORT_INCLUSIVE });
	assert_rows(made, "f 125/125, main 125/0, g 3/3");
	assert_int_equal(made.report->without_stack[0].estimate, 21);
	done(&made);
	profile_free(test.profile);
}

static void same_named_procedures_of_two_builds_stay_apart(void **state)
{
	(void)state;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 100);
	test_image(&test, IMAGE_FILE, "/bin/app", "\1\2\3\4\5");
	test_flat(&test, "main", 2, 100);
	test_image(&test, IMAGE_FILE, "/bin/app", "\xaa\xbb\xcc\xdd\xee");
	test_flat(&test, "main", 1, 100);
	struct made made = make(test.profile, (struct report_options){ 0 });
	assert_rows(made, "main 2, main 1");
	const struct report *report = made.report;
	assert_string_equal(places_procedure(report->places, report->rows[0].procedure)->variant,
			    "build 01020304");
	assert_string_equal(places_procedure(report->places, report->rows[1].procedure)->variant,
			    "build aabbccdd");
	done(&made);
	profile_free(test.profile);
}

static void shares_of_siblings_do_not_exceed_their_parent(void **state)
{
	(void)state;
	static const enum report_view views[] = { REPORT_TREE, REPORT_FLAT, REPORT_INCLUSIVE };
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct profile *profile = random_profile_new(seed, RANDOM_WITH_STRANGERS);
		for (size_t v = 0; v < 3; v++) {
			struct made made =
				make(profile, (struct report_options){ .view = views[v] });
			assert_string_equal(made.err.text, "");
			const struct report *report = made.report;
			for (size_t c = 0; c < report->columns.count; c++) {
				unsigned __int128 self = 0, below[256] = { 0 };
				for (size_t i = report->row_count; i-- > 0;) {
					const struct report_row *row = &report->rows[i];
					self += row->self[c].estimate;
					if (views[v] != REPORT_TREE)
						continue;
					assert_true(row->depth < 255);
					assert_true(below[row->depth + 1] + row->self[c].estimate ==
						    row->total[c].estimate);
					below[row->depth + 1] = 0;
					below[row->depth] += row->total[c].estimate;
				}
				assert_true(self == report->whole[c].estimate);
			}
			done(&made);
		}
		profile_free(profile);
	}
}

/* Of recordings of which some do not say when they were made, the whole has no beginning or end. */
static void a_time_that_one_source_lacks_is_no_time_of_all(void **state)
{
	(void)state;
	for (int untold = 0; untold < 3; untold++) {
		struct test_profile test = test_profile_new();
		test_event(&test, "cycles", 1000);
		test_flat(&test, "work", 1, 1000);
		for (int i = 0; i < 2; i++) {
			struct profile_source source = { .host = span_of_text(i ? "a" : "b"),
							 .start_ns = i < untold ? 0 : 5000u + i,
							 .duration_ns = 10 };
			assert_int_equal(profile_add_source(test.profile, &source), 0);
		}
		struct made made = make(test.profile, (struct report_options){ 0 });
		assert_int_equal(made.report->scope.duration_ns, 20);
		assert_int_equal(made.report->scope.start_ns, untold ? 0 : 5000);
		assert_int_equal(made.report->scope.end_ns, untold ? 0 : 5011);
		done(&made);
		profile_free(test.profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_keeps_rows_whose_names_hold_the_text),
		cmocka_unit_test(a_recursive_procedure_counts_once_a_stack),
		cmocka_unit_test(samples_of_stacks_are_not_doubled_by_flat),
		cmocka_unit_test(a_tree_has_a_row_a_path),
		cmocka_unit_test(callers_and_callees_start_at_the_outermost_call),
		cmocka_unit_test(a_procedure_is_found_by_a_part_that_only_it_has),
		cmocka_unit_test(focus_and_ignore_choose_whole_stacks),
		cmocka_unit_test(views_of_stacks_need_stacks),
		cmocka_unit_test(inlined_functions_are_procedures_of_stacks),
		cmocka_unit_test(an_event_is_chosen_with_or_without_its_modifiers),
		cmocka_unit_test(events_of_one_name_add_up_and_core_types_stay_apart),
		cmocka_unit_test(cpi_is_of_one_core_type),
		cmocka_unit_test(cpi_needs_both_events_of_one_privilege),
		cmocka_unit_test(a_part_that_was_not_kept_is_one_row_without_a_text),
		cmocka_unit_test(filters_of_one_kind_widen_and_of_two_narrow),
		cmocka_unit_test(the_idle_loop_is_no_procedure),
		cmocka_unit_test(late_samples_are_those_of_clocks),
		cmocka_unit_test(rows_left_out_are_summed_up),
		cmocka_unit_test(lost_samples_follow_from_the_overflows),
		cmocka_unit_test(a_machine_busier_than_its_cpus_can_be_is_not_known),
		cmocka_unit_test(a_bill_that_does_not_add_up_is_said),
		cmocka_unit_test(times_that_pass_64_bits_are_not_known),
		cmocka_unit_test(stacks_that_are_not_of_the_samples_are_said),
		cmocka_unit_test(stacks_apart_are_another_view_and_no_part),
		cmocka_unit_test(same_named_procedures_of_two_builds_stay_apart),
		cmocka_unit_test(shares_of_siblings_do_not_exceed_their_parent),
		cmocka_unit_test(a_time_that_one_source_lacks_is_no_time_of_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
