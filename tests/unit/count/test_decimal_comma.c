/* A program with a decimal comma around the library. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "count/counter_private.h"
#include "counting_machine.h"
#include "culprit/print.h"
#include "support/skip.h"

static char folder[] = "/tmp/culprit-locale-XXXXXX";

static bool writes_commas(void)
{
	return strcmp(localeconv()->decimal_point, ",") == 0;
}

/* One that is installed, else one made for this test, where localedef(1) and its sources are. */
static bool set_comma(void)
{
	static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR" };
	char command[256];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (setlocale(LC_ALL, names[i]) && writes_commas())
			return true;
	if (!mkdtemp(folder))
		return false;
	snprintf(command, sizeof(command),
		 "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
	setenv("LOCPATH", folder, 1);
	return system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8") && writes_commas();
}

static void end_comma(void)
{
	char command[256];
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		print_message("%s stays\n", folder);
}

static void numbers_are_as_in_c_in_a_program_with_a_decimal_comma(void **state)
{
	(void)state;
	struct tree tree;
	struct culprit_counters *counters;
	struct culprit_metric *metric;
	struct culprit_error error;
	struct culprit_value half;
	const struct culprit_value value = { .value = 2.5, .low = 2.5, .high = 2.5 };
	char text[4096] = "";
	if (!set_comma()) {
		end_comma();
		SKIP("there is no locale with a decimal comma, and localedef makes none");
	}
	struct count_world world = counting_machine(&tree, counting_intel);
	assert_int_equal(counters_open("cycles", NULL, &world, &counters, &error), 0);
	if (culprit_metric_open(counters, "cycles * 0.5", &metric, &error))
		fail_msg("%s", error.text);
	culprit_metric_value(metric, &value, 1, &half);
	assert_true(half.value == 1.25);
	FILE *stream = fmemopen(text, sizeof(text), "w");
	assert_int_equal(culprit_counters_print(
				 counters, &value, 1,
				 &(struct culprit_print_options){ .format = CULPRIT_JSON }, stream),
			 0);
	fclose(stream);
	assert_non_null(strstr(text, "\"value\":2.5,"));
	assert_true(writes_commas()); /* still */
	culprit_metric_close(metric);
	culprit_counters_close(counters);
	counting_machine_end(&tree);
	end_comma();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_as_in_c_in_a_program_with_a_decimal_comma),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
