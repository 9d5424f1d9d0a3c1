/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "profile/profile.h"
#include "profile/runs.h"
#include "support/test_profile.h"

static struct test_profile one(uint64_t samples)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 1000);
	test_flat(&test, "work", samples, 1000);
	test_source(&test, "web7", 2, 1000);
	return test;
}

static void marked_runs_stay_apart_in_a_merge(void **state)
{
	(void)state;
	struct profile *whole = profile_new();
	struct error err;
	for (uint64_t run = 1; run <= 3; run++) {
		struct test_profile test = one(10 * run);
		assert_int_equal(profile_event_run(test.profile, 1), 0);
		assert_int_equal(profile_mark_run(test.profile, run, &err), 0);
		assert_null(profile_fault(test.profile));
		assert_int_equal(profile_merge(whole, test.profile, &err), 0);
		profile_free(test.profile);
	}
	assert_null(profile_fault(whole));
	const struct table *flat = profile_table(whole, PROFILE_FLAT);
	assert_int_equal(profile_table(whole, PROFILE_EVENT)->count, 3);
	assert_int_equal(profile_table(whole, PROFILE_SOURCE)->count, 3);
	assert_int_equal(flat->count, 3);
	for (size_t row = 0; row < 3; row++) {
		uint64_t run = profile_event_run(whole, table_keys(flat, row)[FLAT_EVENT]);
		assert_int_equal(table_values(flat, row)[CELL_SAMPLES], 10 * run);
		assert_int_equal(profile_source_run(whole, row), row + 1);
		assert_int_equal(profile_event(whole, row + 1).period, 1000);
	}
	profile_free(whole);
}

/* A file may say anything: the reader's mark counts. */
static void a_mark_takes_the_place_of_another(void **state)
{
	(void)state;
	struct test_profile test = one(1);
	struct error err;
	assert_int_equal(profile_mark_run(test.profile, 7, &err), 0);
	assert_int_equal(profile_mark_run(test.profile, 2, &err), 0);
	assert_int_equal(profile_event_run(test.profile, 1), 2);
	assert_null(profile_fault(test.profile));
	profile_free(test.profile);
}

static void a_column_of_that_name_and_another_kind_is_refused(void **state)
{
	(void)state;
	struct test_profile test = one(1);
	const struct column other = { "run", COLUMN_BYTES, RULE_KEY };
	struct error err;
	assert_int_equal(table_add_column(test.profile->tables[PROFILE_EVENT], &other), 0);
	assert_int_equal(profile_mark_run(test.profile, 1, &err), -EBADMSG);
	assert_string_equal(err.text, "column 'run' of table 'event' is declared otherwise");
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_runs_stay_apart_in_a_merge),
		cmocka_unit_test(a_mark_takes_the_place_of_another),
		cmocka_unit_test(a_column_of_that_name_and_another_kind_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
