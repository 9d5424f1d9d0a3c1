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
#include "base/cleanup.h"
#include "machine/topdown.h"
#include "render/limit_text.h"
#include "render/stat_figures.h"
#include "render/stat_json.h"
#include "render/stat_separated.h"
#include "render/stat_text.h"

static const struct counts_event events[] = {
	{ "task-clock", "ns", NULL, COUNTS_CLOCK, 0, 1 },
	{ "page-faults", "faults", NULL, COUNTS_PAGE_FAULTS, 0, 1 },
	{ "cycles", "cycles", NULL, COUNTS_CYCLES, 0, 1 },
	{ "a,\"b\"\n\x1b[1m", "cycles", NULL, COUNTS_OTHER, 0, 1 },
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

struct story {
	struct counts_value values[2 * EVENTS];
	struct counts_row rows[2];
	struct counts counts;
};

static void tell(struct story *story)
{
	*story = (struct story){
		.values = { counts_value_of(1, 1500000, 9, 9), counts_value_of(1, 1234567, 9, 9),
			    counts_value_absent(COUNTS_NOT_SUPPORTED),
			    counts_value_of(1, 10, 8, 4) },
		.rows = { { .values = story->values }, { .values = story->values } },
		.counts = { .subject = "'x'",
			    .events = events,
			    .event_count = EVENTS,
			    .rows = story->rows,
			    .row_count = 1,
			    .elapsed_s = 0.003,
			    .user_s = 0.001,
			    .system_s = 0.0005 },
	};
}

static void assert_has(struct buffer *out, const char *part)
{
	if (!strstr(buffer_text(out), part))
		fail_msg("'%s' is not in:\n%s", part, buffer_text(out));
}

static void text_is_laid_out_as_perf_stat_does(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct story story;
	tell(&story);
	stat_text_print(&story.counts, NULL, &out);
	assert_has(&out, "\n Performance counter stats for 'x':\n\n");
	assert_has(&out,
		   "\n              1.50 msec task-clock                       #    0.500 CPUs "
		   "utilized\n");
	assert_has(&out, "\n         1,234,567      page-faults                      #  823.045 "
			 "M/sec\n");
	assert_has(&out, "\n   <not supported>      cycles\n");
	assert_has(&out, "  (50.00%)\n");
	assert_has(&out, "how far off that is, is not known");
	assert_has(&out, "\n       0.003000000 seconds time elapsed\n");
	assert_has(&out, "\n       0.000500000 seconds sys\n");
}

static void a_scaled_value_has_its_interval_beside_it_when_that_is_known(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct story story;
	tell(&story);
	story.values[3].low = 19;
	story.values[3].high = 21;
	stat_text_print(&story.counts, NULL, &out);
	assert_has(&out, "  (50.00%, +- 5.00%)\n");
	assert_null(strstr(buffer_text(&out), "is not known"));
}

static void names_cannot_steer_or_begin_lines(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct story story;
	tell(&story);
	story.counts.subject = "'\x1b]0;\n'";
	story.rows[0].label = "\x1b[2J\n";
	stat_text_print(&story.counts, NULL, &out);
	assert_null(strchr(buffer_text(&out), '\x1b'));
	assert_has(&out, "\\x1b[2J\\x0a");
	out.size = 0;
	stat_separated_print(&story.counts, ",", false, NULL, &out);
	assert_null(strchr(buffer_text(&out), '\x1b'));
	assert_has(&out, ",\"a,\"\"b\"\"\\x0a\\x1b[1m\",");
}

static void fields_stand_in_perfs_order(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct story story;
	const double spreads[EVENTS] = { 1.5, NAN, NAN, NAN };
	tell(&story);
	stat_separated_print(&story.counts, ";", false, NULL, &out);
	assert_has(&out, "1.50;msec;task-clock;9;100.00;0.500;CPUs utilized\n");
	assert_has(&out, "1234567;;page-faults;9;100.00;823.045;M/sec\n");
	assert_has(&out, "<not supported>;;cycles;0;100.00;;\n");
	out.size = 0;
	story.rows[0].label = "S0-D0-C1";
	story.rows[0].cpus = 2;
	story.counts.begin_s = 1;
	stat_separated_print(&story.counts, ";", true, spreads, &out);
	assert_has(&out, "1.003000000;S0-D0-C1;2;1.50;msec;task-clock;1.50%;9;100.00;0.500;CPUs "
			 "utilized\n");
	assert_has(&out, "1.003000000;S0-D0-C1;2;1234567;;page-faults;;9;100.00;");
}

static void what_is_not_known_is_null_in_json(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct story story;
	tell(&story);
	story.counts.user_s = NAN;
	stat_json_print(&story.counts, NULL, &out);
	assert_has(&out, "\"user_ns\":null");
	assert_has(&out, "\"limit\":null");
	assert_has(&out,
		   "\"event\":\"cycles\",\"core_type\":null,\"unit\":\"cycles\",\"value\":null,"
		   "\"value_low\":null,\"value_high\":null,\"state\":\"not supported\","
		   "\"count\":null");
	/* scaled: how far off is not known */
	assert_has(&out,
		   "\"value\":20,\"value_low\":null,\"value_high\":null,\"state\":\"counted\","
		   "\"count\":10");
}

static void uses_of_slots_are_lines_with_what_is_to_be_known_of_them(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static const char *const types[] = { "cpu_core" };
	struct story story;
	struct topdown topdown = { .running_share = 0.5, .method = "m" };
	tell(&story);
	topdown_clear(&topdown, "no reason");
	topdown.figures[TOPDOWN_RETIRING] = (struct topdown_figure){ true, 0, 0.352, 0.004, NULL };
	topdown.figures[TOPDOWN_LIGHT_OPERATIONS] =
		(struct topdown_figure){ true, TOPDOWN_EXTRAPOLATED, 0.3, 0, NULL };
	story.rows[0].topdown = &topdown;
	story.counts.core_types = types;
	story.counts.topdown_count = 1;
	stat_text_print(&story.counts, NULL, &out);
	assert_has(&out,
		   "\n              35.2 %    retiring                         # cpu_core, +- "
		   "0.4\n");
	assert_has(&out, "\n              30.0 %      light_operations               # cpu_core, "
			 "counted a part of the time\n");
	assert_has(&out,
		   "\n     <not counted> %    backend_bound                    # cpu_core, no "
		   "reason\n");
	assert_null(strstr(buffer_text(&out), "machine_clears"));
	out.size = 0;
	stat_separated_print(&story.counts, ",", false, NULL, &out);
	assert_has(&out, "\n35.20,%,cpu_core/retiring,,50.00,,\n");
	out.size = 0;
	stat_json_print(&story.counts, NULL, &out);
	assert_has(&out,
		   "{\"category\":\"retiring\",\"level\":1,\"share\":0.352,\"resolution\":0.004,"
		   "\"in_doubt\":false,\"why\":null}");
	assert_has(&out, "{\"category\":\"backend_bound\",\"level\":1,\"share\":null,"
			 "\"resolution\":null,\"in_doubt\":false,\"why\":\"no reason\"}");
}

static void digits_are_grouped_by_threes(void **state)
{
	(void)state;
	static const struct {
		uint64_t count;
		const char *text;
	} numbers[] = { { 0, "0" },
			{ 999, "999" },
			{ 1000, "1,000" },
			{ 123456, "123,456" },
			{ 1234567, "1,234,567" },
			{ UINT64_C(9007199254740991), "9,007,199,254,740,991" } };
	char text[STAT_FIGURE_SIZE];
	const char *unit;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct counts_value value = counts_value_of(1, numbers[i].count, 1, 1);
		stat_figure_value(&events[1], &value, STAT_GROUPED, text, &unit);
		assert_string_equal(text, numbers[i].text);
	}
}

static void every_limit_has_a_sentence(void **state)
{
	(void)state;
	char text[LIMIT_TEXT_SIZE];
	for (int limit = LIMIT_NOT_KNOWN; limit <= LIMIT_NOTHING_CLEARLY; limit++) {
		struct limiting_factor factor = { .limit = (enum limit)limit,
						  .slots_use = SLOTS_BACKEND,
						  .slots_share = 0.5,
						  .cpus_used = 1.5,
						  .cpus = 8,
						  .instructions_per_cycle = 1.25,
						  .system_share = 0.6,
						  .page_faults_per_s = 1000,
						  .page_fault_share = 0.7,
						  .misprediction_share = 0.3,
						  .switches_per_s = 12 };
		limit_text(&factor, text);
		assert_true(strlen(text) > 20);
		assert_null(strstr(text, "nan"));
		assert_non_null(limit_names[limit]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_laid_out_as_perf_stat_does),
		cmocka_unit_test(a_scaled_value_has_its_interval_beside_it_when_that_is_known),
		cmocka_unit_test(names_cannot_steer_or_begin_lines),
		cmocka_unit_test(fields_stand_in_perfs_order),
		cmocka_unit_test(what_is_not_known_is_null_in_json),
		cmocka_unit_test(uses_of_slots_are_lines_with_what_is_to_be_known_of_them),
		cmocka_unit_test(digits_are_grouped_by_threes),
		cmocka_unit_test(every_limit_has_a_sentence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
