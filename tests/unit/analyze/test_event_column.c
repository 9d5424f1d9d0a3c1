#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/figures/event_column.h"
#include "base/error.h"
#include "support/test_profile.h"

static struct test_profile make(const char *const *names, const uint64_t *samples)
{
	struct test_profile test = test_profile_new();
	for (size_t i = 0; names[i]; i++) {
		test_event(&test, names[i], 1000);
		if (samples[i])
			test_flat(&test, "main", samples[i], 1000);
	}
	return test;
}

/* Names of the columns that a pattern leaves, and which one it finds first. */
static void must_choose(const struct profile *profile, const char *pattern, const char *wanted)
{
	struct event_columns columns, all;
	struct error err;
	char text[256] = "";
	size_t first;
	assert_int_equal(event_columns_init(&all, profile, NULL, 0, &err), 0);
	if (!*wanted) {
		assert_true(event_columns_init(&columns, profile, &pattern, 1, &err) < 0);
		assert_true(event_columns_find(&all, pattern, &first, &err) < 0);
		event_columns_release(&all);
		return;
	}
	assert_int_equal(event_columns_init(&columns, profile, &pattern, 1, &err), 0);
	for (size_t i = 0; i < columns.count; i++) {
		strcat(text, i ? " " : "");
		strncat(text, columns.list[i].name.data, columns.list[i].name.size);
	}
	assert_string_equal(text, wanted);
	assert_int_equal(event_columns_find(&all, pattern, &first, &err), 0);
	assert_true(span_equal(all.list[first].name, columns.list[0].name));
	event_columns_release(&columns);
	event_columns_release(&all);
}

static void a_very_name_wins_over_names_with_modifiers(void **state)
{
	(void)state;
	static const char *const names[] = { "cycles:u", "cycles:ppp", "cycles", "mem:[0]", NULL };
	struct test_profile test = make(names, (const uint64_t[]){ 1, 1, 1, 1 });
	must_choose(test.profile, "cycles", "cycles");
	must_choose(test.profile, "cycles:u", "cycles:u");
	must_choose(test.profile, "cycles*", "cycles cycles:ppp cycles:u");
	must_choose(test.profile, "cycles:*", "cycles:ppp cycles:u");
	must_choose(test.profile, "mem:[0]", "mem:[0]"); /* a glob that does not match itself */
	must_choose(test.profile, "cycles:p", "");
	profile_free(test.profile);
	struct test_profile without = make(names, (const uint64_t[]){ 1, 1, 0, 1 });
	must_choose(without.profile, "cycles", "cycles"); /* of no samples, and still the one */
	profile_free(without.profile);
	static const char *const modified[] = { "cycles:u", "cycles:ppp", "cpu_atom/cycles/",
						NULL };
	struct test_profile both = make(modified, (const uint64_t[]){ 1, 1, 1 });
	must_choose(both.profile, "cycles", "cpu_atom/cycles/ cycles:ppp cycles:u");
	profile_free(both.profile);
}

static void the_main_column_is_no_column_of_zeros(void **state)
{
	(void)state;
	static const char *const names[] = { "cycles", "faults", "switches", NULL };
	static const uint64_t samples[][3] = { { 1, 1, 1 }, { 0, 0, 1 }, { 0, 1, 0 }, { 0, 0, 0 } };
	static const size_t mains[] = { 0, 2, 1, 0 };
	for (size_t i = 0; i < 4; i++) {
		struct test_profile test = make(names, samples[i]);
		struct event_columns columns;
		assert_int_equal(event_columns_init(&columns, test.profile, NULL, 0, NULL), 0);
		assert_int_equal(columns.count, 3);
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(columns.list[c].counted, samples[i][c]);
		assert_int_equal(event_columns_main(&columns), mains[i]);
		event_columns_release(&columns);
		profile_free(test.profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_very_name_wins_over_names_with_modifiers),
		cmocka_unit_test(the_main_column_is_no_column_of_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
