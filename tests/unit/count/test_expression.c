#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "count/expression.h"

static const char *const names[] = {
	"cycles", "instructions",   "L1-dcache-loads", "L1-dcache-load-misses",
	"L1",	  "cpu/event=0x3c/"
};
static const double values[] = { 100, 250, 40, 4, 7, 9 };

static size_t find(const void *context, const char *text, size_t *name)
{
	(void)context;
	size_t longest = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0 && strlen(names[i]) > longest) {
			longest = strlen(names[i]);
			*name = i;
		}
	return longest;
}

static double value_of(const char *text)
{
	struct expression expression;
	struct error err = { 0 };
	int status = expression_parse(text, find, NULL, &expression, &err);
	if (status)
		print_error("%s\n", err.text);
	assert_int_equal(status, 0);
	return expression_value(&expression, values);
}

static void computes_as_in_school(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{ "1", 1 },
		{ "1 + 2 * 3", 7 },
		{ "(1 + 2) * 3", 9 },
		{ "10 - 4 - 3", 3 },
		{ "100 / 10 / 5", 2 },
		{ "-2 * -3", 6 },
		{ "2 - -3", 5 },
		{ "-(1 + 2) * 2", -6 },
		{ "--4", 4 },
		{ "2 * (3 - (4 - 5)) / 4", 2 },
		{ ".5 + 1e3", 1000.5 },
		{ "\t7 ", 7 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(value_of(cases[i].text) == cases[i].value);
}

static void the_longest_name_is_meant(void **state)
{
	(void)state;
	assert_true(value_of("instructions/cycles") == 2.5);
	assert_true(value_of("L1-dcache-load-misses/L1-dcache-loads") == 0.1);
	assert_true(value_of("L1") == 7);
	assert_true(value_of("'L1'-'cycles'") == -93);
	assert_true(value_of("cpu/event=0x3c// 3") == 3);
	assert_true(value_of("100*cycles/ (instructions-50)") == 50);
}

static void nothing_is_divided_by_nothing(void **state)
{
	(void)state;
	assert_true(isnan(value_of("1 / (cycles - 100)")));
	assert_true(isnan(value_of("0 / 0")));
}

static void mistakes_have_a_place(void **state)
{
	(void)state;
	static const struct {
		const char *text, *where;
		int code;
	} cases[] = {
		{ "", "character 1", -EINVAL },
		{ "1 +", "character 4", -EINVAL },
		{ "1 2", "character 3", -EINVAL },
		{ "(1", "character 3", -EINVAL },
		{ "1)", "character 2", -EINVAL },
		{ ")", "character 1", -ENOENT },
		{ "* 2", "character 1", -ENOENT },
		{ "cycles / brnches", "character 10", -ENOENT },
		{ "'cycles", "character 1", -ENOENT },
		{ "'L1-dcache'", "character 1", -ENOENT },
		{ "1 % 2", "character 3", -EINVAL },
		{ "1e999", "character 1", -EINVAL },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct expression expression;
		struct error err = { 0 };
		assert_int_equal(expression_parse(cases[i].text, find, NULL, &expression, &err),
				 cases[i].code);
		if (!strstr(err.text, cases[i].where))
			print_error("'%s': %s\n", cases[i].text, err.text);
		assert_non_null(strstr(err.text, cases[i].where));
	}
}

static void what_is_too_long_is_refused(void **state)
{
	(void)state;
	struct expression expression;
	struct error err = { 0 };
	char text[4 * EXPRESSION_STEPS];
	memset(text, '(', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(expression_parse(text, find, NULL, &expression, &err), -EINVAL);
	memset(text, '-', sizeof(text) - 1);
	assert_int_equal(expression_parse(text, find, NULL, &expression, &err), -EINVAL);
	for (size_t i = 0; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "1+", 2);
	text[sizeof(text) - 2] = '1';
	assert_int_equal(expression_parse(text, find, NULL, &expression, &err), -EINVAL);
}

/* As many operands wait as fit: the deepest stack that is possible. */
static void the_deepest_expression_is_computed(void **state)
{
	(void)state;
	char text[2 * EXPRESSION_STEPS] = "";
	size_t depth = EXPRESSION_STEPS / 2 - 1;
	for (size_t i = 0; i < depth; i++)
		strcat(text, "1-(");
	strcat(text, "1");
	/* 127 operands and 126 operators, each in parentheses of its own */
	char closed[4 * EXPRESSION_STEPS];
	snprintf(closed, sizeof(closed), "%s", text);
	for (size_t i = 0; i < depth; i++)
		strcat(closed, ")");
	assert_true(value_of(closed) == (depth % 2 ? 0 : 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(computes_as_in_school),
		cmocka_unit_test(the_longest_name_is_meant),
		cmocka_unit_test(nothing_is_divided_by_nothing),
		cmocka_unit_test(mistakes_have_a_place),
		cmocka_unit_test(what_is_too_long_is_refused),
		cmocka_unit_test(the_deepest_expression_is_computed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
