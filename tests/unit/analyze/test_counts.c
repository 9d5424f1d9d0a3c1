/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <math.h>
#include <string.h>

#include "analyze/counted/counts.h"
#include "analyze/counted/metric_names.h"
#include "base/count_of.h"
#include "machine/event.h"

/* ---- values */

static void a_value_counted_all_the_time_is_exact(void **state)
{
	(void)state;
	struct counts_value value = counts_value_of(1, 1000, 500, 500);
	assert_int_equal(value.state, COUNTS_KNOWN);
	assert_true(value.value == 1000 && value.low == 1000 && value.high == 1000);
	assert_true(counts_running_percent(&value) == 100);
}

static void a_value_counted_a_part_of_the_time_is_scaled_without_an_interval(void **state)
{
	(void)state;
	struct counts_value value = counts_value_of(1, 1000, 800, 200);
	assert_int_equal(value.state, COUNTS_KNOWN);
	assert_true(value.value == 4000);
	assert_true(isnan(value.low) && isnan(value.high));
	assert_int_equal(value.count, 1000);
	assert_true(counts_running_percent(&value) == 25);
}

static void what_never_ran_is_not_counted_and_no_zero(void **state)
{
	(void)state;
	struct counts_value value = counts_value_of(1, 0, 800, 0);
	assert_int_equal(value.state, COUNTS_NOT_COUNTED);
	assert_true(isnan(value.value));
	assert_true(counts_running_percent(&value) == 0);
}

static void a_zero_that_was_counted_is_a_zero(void **state)
{
	(void)state;
	struct counts_value value = counts_value_of(1, 0, 800, 800);
	assert_int_equal(value.state, COUNTS_KNOWN);
	assert_true(value.value == 0);
}

static void a_scale_makes_units_of_counts(void **state)
{
	(void)state;
	assert_true(counts_value_of(0.25, 1000, 500, 500).value == 250);
}

/* ---- figures beside events */

#define EVENTS 4

struct story {
	struct counts_event events[EVENTS];
	struct counts_value values[EVENTS];
	struct counts_row row;
	struct counts counts;
};

static void tell(struct story *story)
{
	story->row = (struct counts_row){ .values = story->values };
	story->counts = (struct counts){ .events = story->events,
					 .event_count = EVENTS,
					 .rows = &story->row,
					 .row_count = 1,
					 .elapsed_s = 2 };
}

/* 1 s of CPU time in 2 s. */
static struct story usual_story(void)
{
	return (struct story){
		.events = { { .name = "task-clock", .meaning = COUNTS_CLOCK, .scale = 1 },
			    { .name = "cycles", .meaning = COUNTS_CYCLES, .scale = 1 },
			    { .name = "instructions", .meaning = COUNTS_INSTRUCTIONS, .scale = 1 },
			    { .name = "branches", .meaning = COUNTS_BRANCHES, .scale = 1 } },
		.values = { counts_value_of(1, 1000000000, 1, 1),
			    counts_value_of(1, 3000000000, 1, 1),
			    counts_value_of(1, 4500000000, 1, 1),
			    counts_value_of(1, 2500000, 1, 1) },
	};
}

static void assert_remark(struct story *story, size_t event, enum counts_remark_kind kind,
			  double value)
{
	struct counts_remark remark = counts_remark_of(&story->counts, &story->row, event);
	assert_int_equal(remark.kind, kind);
	if (kind != COUNTS_NO_REMARK && !(fabs(remark.value - value) < 1e-9 * fabs(value)))
		fail_msg("event %zu has %.9g beside it, not %.9g", event, remark.value, value);
}

static void figures_are_those_of_perf_stat(void **state)
{
	(void)state;
	struct story story = usual_story();
	tell(&story);
	assert_remark(&story, 0, COUNTS_CPUS, 0.5);
	assert_remark(&story, 1, COUNTS_GHZ, 3);
	assert_remark(&story, 2, COUNTS_PER_CYCLE, 1.5);
	assert_remark(&story, 3, COUNTS_RATE, 2500000);
}

static void events_of_other_scopes_make_no_figure(void **state)
{
	(void)state;
	struct story story = usual_story();
	story.events[2].scope = COUNTS_WITHOUT_KERNEL;
	tell(&story);
	assert_remark(&story, 2, COUNTS_RATE, 4500000000);
	story.events[1].scope = COUNTS_WITHOUT_KERNEL;
	assert_remark(&story, 2, COUNTS_PER_CYCLE, 1.5); /* both are the user's */
	assert_remark(&story, 1, COUNTS_RATE,
		      3000000000); /* a part of the cycles is no frequency */
}

static void core_types_are_kept_apart(void **state)
{
	(void)state;
	struct story story = usual_story();
	story.events[1].core_type = "cpu_core";
	story.events[2].core_type = "cpu_atom";
	tell(&story);
	assert_remark(&story, 2, COUNTS_RATE, 4500000000);
	story.events[2].core_type = "cpu_core";
	assert_remark(&story, 2, COUNTS_PER_CYCLE, 1.5);
}

static void what_is_not_known_makes_no_figure(void **state)
{
	(void)state;
	struct story story = usual_story();
	story.values[0] = counts_value_absent(COUNTS_NOT_SUPPORTED);
	story.values[1] = counts_value_absent(COUNTS_NOT_COUNTED);
	tell(&story);
	for (size_t i = 0; i < EVENTS; i++)
		assert_remark(&story, i, COUNTS_NO_REMARK, 0);
}

static void a_share_is_of_its_whole(void **state)
{
	(void)state;
	struct story story = usual_story();
	story.events[2] = (struct counts_event){ .name = "branch-misses",
						 .meaning = COUNTS_BRANCH_MISSES,
						 .scale = 1 };
	story.values[2] = counts_value_of(1, 50000, 1, 1);
	tell(&story);
	assert_remark(&story, 2, COUNTS_SHARE, 2);
	story.events[3].scope = COUNTS_WITHOUT_USER;
	assert_remark(&story, 2, COUNTS_RATE, 50000);
}

static void totals_are_of_all_core_types_and_of_nothing_less_than_all(void **state)
{
	(void)state;
	struct story story = usual_story();
	story.events[1].core_type = "cpu_core";
	story.events[2] = story.events[1];
	story.events[2].core_type = "cpu_atom";
	tell(&story);
	assert_true(counts_total(&story.counts, &story.row, COUNTS_CYCLES) == 7500000000.0);
	assert_true(isnan(counts_total(&story.counts, &story.row, COUNTS_INSTRUCTIONS)));
	story.events[3].scope = COUNTS_WITHOUT_KERNEL;
	assert_true(isnan(counts_total(&story.counts, &story.row, COUNTS_BRANCHES)));
}

/* ---- events */

static struct event event_of(enum event_kind kind, uint64_t config)
{
	return (struct event){
		.kind = kind, .attr = { .config = config }, .name = "e", .scale = 1
	};
}

static void events_are_known_by_their_numbers(void **state)
{
	(void)state;
	struct event cycles = event_of(EVENT_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(counts_event_of(&cycles).meaning, COUNTS_CYCLES);
	/* a PMU of a machine with several core types */
	cycles.attr.config |= UINT64_C(10) << 32;
	assert_int_equal(counts_event_of(&cycles).meaning, COUNTS_CYCLES);
	struct event raw = event_of(EVENT_RAW, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(counts_event_of(&raw).meaning, COUNTS_OTHER);
	struct event loads = event_of(EVENT_CACHE, PERF_COUNT_HW_CACHE_L1D);
	assert_int_equal(counts_event_of(&loads).meaning, COUNTS_L1D_LOADS);
}

static void clocks_have_no_scope(void **state)
{
	(void)state;
	struct event clock = event_of(EVENT_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	clock.clock = true;
	clock.attr.exclude_kernel = 1;
	assert_int_equal(counts_event_of(&clock).scope, 0);
	struct event cycles = event_of(EVENT_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	cycles.attr.exclude_kernel = 1;
	assert_int_equal(counts_event_of(&cycles).scope, COUNTS_WITHOUT_KERNEL);
}

static void names_of_metrics_are_found_whole(void **state)
{
	(void)state;
	assert_string_equal(metric_name_find("ipc")->expression, "instructions/cycles");
	assert_null(metric_name_find("ip"));
	assert_null(metric_name_find("ipc "));
	for (size_t i = 0; i < metric_name_count; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(metric_names[i].name, metric_names[k].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_counted_all_the_time_is_exact),
		cmocka_unit_test(a_value_counted_a_part_of_the_time_is_scaled_without_an_interval),
		cmocka_unit_test(what_never_ran_is_not_counted_and_no_zero),
		cmocka_unit_test(a_zero_that_was_counted_is_a_zero),
		cmocka_unit_test(a_scale_makes_units_of_counts),
		cmocka_unit_test(figures_are_those_of_perf_stat),
		cmocka_unit_test(events_of_other_scopes_make_no_figure),
		cmocka_unit_test(core_types_are_kept_apart),
		cmocka_unit_test(what_is_not_known_makes_no_figure),
		cmocka_unit_test(a_share_is_of_its_whole),
		cmocka_unit_test(totals_are_of_all_core_types_and_of_nothing_less_than_all),
		cmocka_unit_test(events_are_known_by_their_numbers),
		cmocka_unit_test(clocks_have_no_scope),
		cmocka_unit_test(names_of_metrics_are_found_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
