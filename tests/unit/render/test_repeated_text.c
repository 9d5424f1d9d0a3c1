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
#include "base/error.h"
#include "base/json_stream.h"
#include "render/repeated_json.h"
#include "render/repeated_text.h"

#define ROUNDS	 12
#define COMMANDS 2
#define EVENTS	 2 /* a clock and a count */
#define MEASURES (REPEATED_TIMES + EVENTS + 1)

struct story {
	double values[MEASURES][ROUNDS * COMMANDS];
	struct run_summary summaries[MEASURES][COMMANDS];
	struct run_comparison comparisons[MEASURES][COMMANDS];
	struct repeated_measure measures[MEASURES];
	struct repeated repeated;
};

static const char *const subjects[COMMANDS] = { "one", "two" };
static const struct limiting_factor factors[COMMANDS] = {
	{ .limit = LIMIT_CPU, .cpus_used = 0.98, .cpus = NAN, .instructions_per_cycle = NAN },
	{ .limit = LIMIT_CROWDED,
	  .cpus_used = 0.25,
	  .cpus = NAN,
	  .instructions_per_cycle = NAN,
	  .switches_per_s = 40,
	  .pushed_off = true },
};

/* Runs of 1 ms and something, of which the sixth of the first command takes 5 ms; counts of 0 to 3,
 * of the second command 4 more. */
static void tell(struct story *story)
{
	static const struct repeated_measure kinds[MEASURES] = {
		{ "elapsed", "s", RUN_TIME, NULL, NULL, NULL },
		{ "user", "s", RUN_TIME, NULL, NULL, NULL },
		{ "sys", "s", RUN_TIME, NULL, NULL, NULL },
		{ "task-clock", "ns", RUN_TIME, NULL, NULL, NULL },
		{ "faults", "pages", RUN_COUNT, NULL, NULL, NULL },
		{ "ipc", "", RUN_RATE, NULL, NULL, NULL },
	};
	static const double scales[MEASURES] = { 1e-3, 1e-3, 0, 1e6, 0, 0.5 };
	struct error err = { 0 };
	*story = (struct story){ 0 };
	for (size_t m = 0; m < MEASURES; m++) {
		for (size_t i = 0; i < ROUNDS * COMMANDS; i++) {
			size_t round = i / COMMANDS;
			double ms = i == 5 * COMMANDS ? 5 : 1 + 0.01 * (double)(round * 5 % 12);
			story->values[m][i] = scales[m] * ms;
			if (m == REPEATED_TIMES + 1)
				story->values[m][i] = (double)(round % 4) + (i % COMMANDS ? 4 : 0);
		}
		story->measures[m] = kinds[m];
		story->measures[m].values = story->values[m];
		story->measures[m].summaries = story->summaries[m];
		story->measures[m].comparisons = story->comparisons[m];
	}
	story->repeated = (struct repeated){ .subjects = subjects,
					     .commands = COMMANDS,
					     .rounds = ROUNDS,
					     .measures = story->measures,
					     .measure_count = MEASURES,
					     .main = REPEATED_TIMES + 1 };
	if (repeated_summarise(&story->repeated, &err) < 0)
		fail_msg("%s", err.text);
}

static void assert_has(struct buffer *out, const char *part)
{
	if (!strstr(buffer_text(out), part))
		fail_msg("'%s' is not in:\n%s", part, buffer_text(out));
}

static void notes_have_the_units_and_digits_of_the_table(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static struct story story;
	tell(&story);
	repeated_text_print_commands(&story.repeated, factors, &out);
	assert_has(&out, "\n 1 of 12 runs stand out in elapsed: from 1.000 to 5.000 ms, median "
			 "1.065\n");
	assert_has(&out, "\n 1 of 12 runs stand out in task-clock: from 1.000 to 5.000 ms, median "
			 "1.065\n");
	assert_has(&out, "\n 1 of 12 runs stand out in ipc: from 0.5000 to 2.5000, median "
			 "0.5325\n");
	assert_null(strstr(buffer_text(&out), "e+06"));
}

static void a_difference_has_its_unit_in_the_first_line_too(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static struct story story;
	tell(&story);
	repeated_text_print_commands(&story.repeated, factors, &out);
	assert_has(&out, "B against A, faults: more by 4.0 pages (4.0 to 4.0)\n");
	out.size = 0;
	repeated_json_print(&story.repeated, &out);
	assert_has(&out, "\"text\":\"more by 4.0 pages (4.0 to 4.0)\"");
}

static void each_command_has_what_limits_it(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static struct story story;
	tell(&story);
	repeated_text_print_commands(&story.repeated, factors, &out);
	assert_has(&out,
		   "\nA: one\n   CPU-bound: 0.98 CPUs used\nB: two\n   other programs had the "
		   "CPUs: 0.25 CPUs used, its CPU was taken from it 40 times a second\n"
		   "12 rounds, in random order");
	assert_null(strstr(buffer_text(&out), "elapsed: other programs"));
	/* only where it is elapsed time that is judged */
	out.size = 0;
	story.repeated.main = REPEATED_ELAPSED;
	repeated_text_print_commands(&story.repeated, factors, &out);
	assert_has(&out, "\nelapsed: other programs may be in it");
	out.size = 0;
	const struct limiting_factor alone[COMMANDS] = { factors[0], factors[0] };
	repeated_text_print_commands(&story.repeated, alone, &out);
	assert_null(strstr(buffer_text(&out), "elapsed: other programs"));
}

static void lines_of_fields_say_what_the_change_is(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static struct story story;
	tell(&story);
	repeated_separated_print_commands(&story.repeated, ";", &out);
	assert_has(&out, "\n1;5.5;pages;faults;13.4");
	assert_has(&out, ";4;4;4;difference;more\n");
	assert_has(&out, ";ratio;not_found\n");
	assert_has(&out, "\n0;0.69375;;ipc;52.1175072;");
	assert_null(strstr(buffer_text(&out), ";-0;"));
	/* the first command is compared with none */
	assert_has(&out, "\n0;1.5;pages;faults;49.4634631;;;;;\n");
}

static void a_metrics_spread_stands_beside_it(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	static const struct counts_event events[EVENTS] = {
		{ "task-clock", "ns", NULL, COUNTS_CLOCK, 0, 1 },
		{ "faults", "pages", NULL, COUNTS_OTHER, 0, 1 },
	};
	static const struct counts_metric metric = { "ipc", "instructions/cycles" };
	static struct story story;
	tell(&story);
	struct counts_value values[EVENTS] = { counts_value_of(1, 1500000, 10, 10),
					       counts_value_of(1, 2, 10, 5) };
	struct counts_value ratio = { COUNTS_KNOWN, 0.00012345, NAN, NAN, 0, 0, 0 };
	values[1].low = 1;
	values[1].high = 3;
	const struct counts_row row = { .values = values, .metrics = &ratio };
	const struct counts means = { .subject = "'x'",
				      .events = events,
				      .event_count = EVENTS,
				      .metrics = &metric,
				      .metric_count = 1,
				      .rows = &row,
				      .row_count = 1,
				      .elapsed_s = 0.001,
				      .user_s = NAN,
				      .system_s = NAN };
	repeated_text_print(&story.repeated, &means, NULL, &out);
	assert_has(&out, "\n         0.0001234      ipc                              # "
			 "instructions/cycles              ( +- 52.12% )\n");
	assert_null(strstr(buffer_text(&out), "seconds user"));
	/* scaled: the interval of the runs is all that is said of its error */
	assert_has(&out, "( +- 49.46% )  (50.00%)\n");
	assert_has(&out, "the interval of the runs has that error in it");
	assert_null(strstr(buffer_text(&out), "by how its rate"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_have_the_units_and_digits_of_the_table),
		cmocka_unit_test(a_difference_has_its_unit_in_the_first_line_too),
		cmocka_unit_test(each_command_has_what_limits_it),
		cmocka_unit_test(lines_of_fields_say_what_the_change_is),
		cmocka_unit_test(a_metrics_spread_stands_beside_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
