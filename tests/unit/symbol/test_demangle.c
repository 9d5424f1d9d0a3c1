#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "symbol/cold_parts.h"
#include "symbol/demangle.h"

static void assert_shown(const char *linkage, const char *expected)
{
	CLEANUP(free_pointer) char *shown = demangle(span_of_text(linkage));
	if (!expected) {
		assert_null(shown);
		return;
	}
	assert_non_null(shown);
	assert_string_equal(shown, expected);
}

static void cpp_and_rust_names_are_shown_as_written(void **state)
{
	(void)state;
	assert_shown("_ZN2ns1hEd", "ns::h(double)");
	assert_shown("_ZNK2ns1A1fEi.cold", "ns::A::f(int) const [clone .cold]");
	assert_shown("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	assert_shown("_RNvCs1234_7mycrate3foo", "mycrate::foo");
}

static void other_names_are_left_alone(void **state)
{
	(void)state;
	assert_shown("main", NULL);
	assert_shown("", NULL);
	assert_shown("_", NULL);
	assert_shown("_Z", NULL);
	assert_shown("_ZZZZ", NULL);
	assert_shown("__libc_start_main", NULL);
}

/* Each pair is made of the one before: doubles with every 5 characters. */
static void a_name_made_to_explode_is_given_up(void **state)
{
	(void)state;
	char name[1024] = "_Z1fSt4pairIiiE";
	char *end = name + strlen(name);
	for (int i = 0; i < 60; i++)
		end += snprintf(end, sizeof(name) - (size_t)(end - name), "St4pairIS%c_S%c_E",
				i < 10 ? '0' + i : 'A' + i % 26, i < 10 ? '0' + i : 'A' + i % 26);
	CLEANUP(free_pointer) char *shown = demangle(span_of_text(name));
	if (shown)
		assert_true(strlen(shown) <= 32768);
	char *huge = malloc(100000);
	assert_non_null(huge);
	memset(huge, 'P', 100000);
	memcpy(huge, "_Z1f", 4);
	assert_null(demangle((struct span){ huge, 100000 }));
	free(huge);
}

static void cold_parts_know_the_name_of_the_whole(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "f.cold", "f" },
		{ "f.cold.12", "f" },
		{ "f.part.0.cold", "f.part.0" },
		{ "f.isra.0.cold.1", "f.isra.0" },
		{ "f", "" },
		{ ".cold", "" },
		{ "f.cold12", "" },
		{ "f.colder", "" },
		{ "f.1", "" },
		{ "12", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct span parent = cold_parent_name(span_of_text(cases[i][0]));
		assert_true(span_equal(parent, span_of_text(cases[i][1])));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpp_and_rust_names_are_shown_as_written),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(a_name_made_to_explode_is_given_up),
		cmocka_unit_test(cold_parts_know_the_name_of_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
