/* A daemon's care for its database when an epoch in it is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/upkeep.h"
#include "support/temporary_folder.h"
#include "unit/store/database_care.h"
#include "unit/store/made_database.h"

#define PATIENCE_STEPS 6000 /* of 10 ms */

/* Runs it once, and waits for its end. */
static void keep_up(struct upkeep *upkeep)
{
	assert_true(upkeep_begin(upkeep));
	for (int i = 0; !upkeep_end(upkeep); i++) {
		assert_true(i < PATIENCE_STEPS);
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	upkeep_release(upkeep);
}

/* Overwrites more than a page in the middle of the epoch of that hour. */
static void damage(const char *database, unsigned hour)
{
	care_shell(
		"f=%s/a/202601%02uT%02u0000Z.prof; test -f $f && s=$(($(stat -c %%s $f) / 2)) && "
		"head -c 2048 /dev/zero | tr '\\0' U | "
		"dd of=$f bs=1 seek=$s conv=notrunc 2>/dev/null",
		database, 1 + hour / 24, hour % 24);
}

/* The first one that is damaged is named; once that is gone, the next. */
static void expect_named(const char *database, struct upkeep *upkeep, const char *first,
			 const char *next)
{
	struct upkeep again = { .database = database, .older_than_ns = upkeep->older_than_ns };
	if (!strstr(upkeep->trouble, first) || strstr(upkeep->trouble, next))
		fail_msg("'%s' is not named but '%s'", first, upkeep->trouble);
	care_shell("rm %s%s", database, first);
	keep_up(&again);
	if (!strstr(again.trouble, next))
		fail_msg("then '%s' is not named but '%s'", next, again.trouble);
}

static void what_is_damaged_is_named_and_the_rest_kept_up(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 30, NULL);
	damage(database, 3);
	care_shell("truncate -s 700 %s/a/20260102T020000Z.prof", database);
	struct upkeep upkeep = { .database = database };
	keep_up(&upkeep);
	assert_int_equal(upkeep.compacted.made, 2);
	assert_int_equal(upkeep.compacted.parts, 28);
	assert_int_equal(made_count_files(database, ".prof"), 4);
	expect_named(database, &upkeep, "/a/20260101T030000Z.prof", "/a/20260102T020000Z.prof");
}

/* Without damage the same says nothing. */
static void what_is_whole_is_kept_up_silently(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 30, NULL);
	struct upkeep upkeep = { .database = database };
	keep_up(&upkeep);
	assert_int_equal(upkeep.compacted.parts, 30);
	assert_string_equal(upkeep.trouble, "");
}

static void pruning_goes_past_what_is_damaged(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 8, NULL);
	damage(database, 1);
	damage(database, 7);
	struct upkeep upkeep = { .database = database, .older_than_ns = CARE_DAY_NS };
	keep_up(&upkeep);
	/* The whole ones are one by then, and the three last stay. */
	assert_int_equal(upkeep.compacted.parts, 6);
	assert_int_equal(made_count_files(database, ".prof"), 3);
	expect_named(database, &upkeep, "/a/20260101T010000Z.prof", "/a/20260101T070000Z.prof");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_damaged_is_named_and_the_rest_kept_up),
		cmocka_unit_test(what_is_whole_is_kept_up_silently),
		cmocka_unit_test(pruning_goes_past_what_is_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
