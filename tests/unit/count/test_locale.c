/* libculprit in a program that writes decimal commas: what it reads and prints has points. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number.h"
#include "count/counter_private.h"
#include "counting_machine.h"
#include "culprit/print.h"
#include "machine/pmu.h"
#include "support/skip.h"

static struct tree tree;
static struct count_world world;

static const struct tree_file scaled[] = {
	{ COUNTING_PMU "software/type", "1" },
	{ COUNTING_PMU "power/type", "9" },
	{ COUNTING_PMU "power/format/event", "config:0-7" },
	{ COUNTING_PMU "power/events/energy", "event=0x02" },
	{ COUNTING_PMU "power/events/energy.scale", "2.5e-1" },
	{ NULL, NULL },
};

/* The C library brings no such locale along, so one is made of its sources. */
static int set_up(void **state)
{
	char command[256];
	(void)state;
	world = counting_machine(&tree, scaled);
	snprintf(command, sizeof(command),
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1", tree.path, tree.path);
	if (system(command) == 0 && setenv("LOCPATH", tree.path, 1) == 0)
		setlocale(LC_ALL, "de_DE.UTF-8");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	setlocale(LC_ALL, "C");
	counting_machine_end(&tree);
	return 0;
}

static void need_commas(void)
{
	char text[16];
	snprintf(text, sizeof(text), "%.1f", 0.5);
	if (strcmp(text, "0,5") != 0)
		SKIP("localedef(1) made no locale with decimal commas");
}

static void numbers_are_read_with_points(void **state)
{
	double number;
	struct pmu_list pmus;
	(void)state;
	need_commas();
	assert_true(number_parse_double("1.5", &number) && number == 1.5);
	assert_int_equal(pmu_list_read(&tree.root, &pmus, NULL), 0);
	assert_true(pmu_find_event(pmu_find(&pmus, "power"), "energy")->scale == 0.25);
	assert_int_equal(pmus.unreadable, 0);
	pmu_list_release(&pmus);
}

static struct culprit_counters *opened(void)
{
	struct culprit_counters *counters;
	struct culprit_error error;
	if (counters_open("page-faults", NULL, &world, &counters, &error))
		fail_msg("%s", error.text);
	return counters;
}

static void expressions_have_points(void **state)
{
	(void)state;
	need_commas();
	struct culprit_counters *counters = opened();
	struct culprit_metric *metric;
	assert_int_equal(culprit_metric_open(counters, "0.25 * page-faults", &metric, NULL), 0);
	const struct culprit_value value = { .value = 10, .low = 10, .high = 10 };
	struct culprit_value result;
	culprit_metric_value(metric, &value, 1, &result);
	assert_true(result.value == 2.5);
	culprit_metric_close(metric);
	culprit_counters_close(counters);
}

static void what_is_printed_has_points(void **state)
{
	(void)state;
	need_commas();
	struct culprit_counters *counters = opened();
	const struct culprit_value value = { .value = 1.5, .low = 1.25, .high = 1.75, .count = 2 };
	for (int format = CULPRIT_TEXT; format <= CULPRIT_JSON; format++) {
		const struct culprit_print_options options = {
			.format = (enum culprit_print_format)format, .units = 4
		};
		char *text = NULL;
		size_t size = 0;
		FILE *stream = open_memstream(&text, &size);
		assert_non_null(stream);
		assert_int_equal(culprit_counters_print(counters, &value, 1, &options, stream), 0);
		fclose(stream);
		assert_non_null(strstr(text, "1.25"));
		assert_non_null(strstr(text, "0.375"));
		assert_null(strstr(text, "1,25"));
		free(text);
	}
	/* the program's own numbers are as before */
	need_commas();
	culprit_counters_close(counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read_with_points),
		cmocka_unit_test(expressions_have_points),
		cmocka_unit_test(what_is_printed_has_points),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
