/* How the last daemon's recording into a database ended, and when. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/database_end.h"
#include "store/epoch.h"
#include "support/temporary_folder.h"
#include "unit/store/database_care.h"
#include "unit/store/made_database.h"

#define HOST	    "h"
#define DURATION_NS (2 * MADE_SECOND_NS)
#define NOW_NS	    (MADE_START_NS + CARE_DAY_NS)
#define FUTURE	    (2 * CARE_DAY_NS / MADE_SECOND_NS)
#define DAEMON	    "culprit daemon -o db"
#define THIS_BOOT   "this-boot"

enum ending { IN_ORDER, CUT_OFF, LEFT_OPEN };

/* An epoch that begins so many seconds after MADE_START_NS, with so many rows. */
static void record_rows(const char *database, uint64_t second, const char *command,
			const char *boot_id, enum ending ending, unsigned rows)
{
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	const struct profile_source source = { .host = span_of_text(HOST),
					       .boot_id = span_of_text(boot_id),
					       .command = span_of_text(command),
					       .start_ns = MADE_START_NS + second * MADE_SECOND_NS,
					       .duration_ns = DURATION_NS };
	assert_int_equal(profile_add_source(profile, &source), 0);
	if (ending == CUT_OFF)
		assert_int_equal(profile_add_bill(profile, 0, OPTIONAL_ABSENT, BILL_CUT_OFF, 1), 0);
	for (unsigned i = 0; i < rows; i++) {
		char item[40];
		snprintf(item, sizeof(item), "%08x", i * 2654435761u);
		assert_int_equal(profile_add_bill(profile, 0, OPTIONAL_ABSENT, item, i), 0);
	}
	made_must(database_open_epoch(database, HOST, source.start_ns, &epoch, &err), &err);
	made_must(epoch_merge(epoch, profile, &err), &err);
	if (ending == LEFT_OPEN)
		epoch_abandon(epoch);
	else
		made_must(epoch_close(epoch, &err), &err);
}

static void record(const char *database, uint64_t second, const char *command, enum ending ending)
{
	record_rows(database, second, command, THIS_BOOT, ending, 0);
}

static struct database_end end_of(const char *database)
{
	struct database_end end;
	struct error err = { 0 };
	made_must(database_last_end(database, HOST, THIS_BOOT, NOW_NS, &end, &err), &err);
	return end;
}

static void assert_end(const char *database, uint64_t second, bool in_order)
{
	const struct database_end end = end_of(database);
	assert_true(end.known);
	assert_int_equal(end.end_ns, MADE_START_NS + second * MADE_SECOND_NS + DURATION_NS);
	assert_int_equal(end.in_order, in_order);
	assert_string_equal(end.boot_id, THIS_BOOT);
}

static void the_last_daemon_counts_and_no_other_recording(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 1, "culprit record -a -o db -- daemon", IN_ORDER);
	assert_false(end_of(database).known);
	record(database, 10, DAEMON, CUT_OFF);
	assert_end(database, 10, false);
	record(database, 20, "/usr/bin/culprit record -p 1 --epoch 1h -o db", IN_ORDER);
	record(database, 30, "culprit daemonize", IN_ORDER);
	assert_end(database, 10, false);
	record(database, 40, "/usr/bin/culprit daemon", IN_ORDER);
	assert_end(database, 40, true);
	/* Whose command line is kept secret may be one. */
	record(database, 50, "", CUT_OFF);
	assert_end(database, 50, false);
}

static void damage_later_than_it_is_no_end_in_order(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 10, DAEMON, IN_ORDER);
	care_shell("touch %s/" HOST "/20200101T000000Z.damaged", database);
	assert_end(database, 10, true);
	care_shell("touch %s/" HOST "/20260101T000010Z.damaged", database);
	assert_end(database, 10, false);
	care_shell("rm %s/" HOST "/*.damaged", database);
	care_shell("echo text >%s/" HOST "/20260101T000020Z.prof", database);
	assert_end(database, 10, false);
	/* What has another kind of name says nothing. */
	care_shell("cd %s/" HOST " && mv 20260101T000020Z.prof baseline.prof", database);
	assert_end(database, 10, true);
}

static void another_clocks_future_is_the_last_resort(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, FUTURE, DAEMON, IN_ORDER);
	assert_end(database, FUTURE, true);
	record(database, 10, DAEMON, CUT_OFF);
	assert_end(database, 10, false);
}

static void a_kill_in_another_clocks_future_is_none_in_order(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 10, DAEMON, IN_ORDER);
	record(database, FUTURE, DAEMON, CUT_OFF);
	assert_end(database, FUTURE, false);
	/* One that ended in order after that says that it was long ago. */
	record(database, FUTURE + 10, DAEMON, IN_ORDER);
	assert_end(database, 10, true);
}

static void a_kill_before_this_boot_is_earlier_than_its_epochs(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record_rows(database, FUTURE, DAEMON, "a boot before", CUT_OFF, 0);
	record_rows(database, 10, DAEMON, "another before", IN_ORDER, 0);
	const struct database_end end = end_of(database);
	assert_true(end.known && !end.in_order && end.end_ns > NOW_NS);
	record(database, 20, DAEMON, IN_ORDER);
	assert_end(database, 20, true);
	/* Nor is anything known of one whose boot is not. */
	record_rows(database, FUTURE + 10, DAEMON, "", CUT_OFF, 0);
	assert_true(end_of(database).end_ns > NOW_NS);
}

static void of_epochs_in_the_future_one_is_read_in_whole(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 10, DAEMON, IN_ORDER);
	record_rows(database, FUTURE, DAEMON, THIS_BOOT, IN_ORDER, 20000);
	uint64_t before = made_bytes_read();
	assert_end(database, 10, true);
	uint64_t one = made_bytes_read() - before;
	for (unsigned i = 1; i <= 3; i++)
		record_rows(database, FUTURE + 10 * i, DAEMON, THIS_BOOT, IN_ORDER, 20000);
	before = made_bytes_read();
	assert_end(database, 10, true);
	uint64_t four = made_bytes_read() - before;
	if (four >= 2 * one)
		fail_msg("%" PRIu64 " bytes of four epochs, %" PRIu64 " of one", four, one);
}

static void days_that_were_made_one_epoch_tell_of_no_kill(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 10, DAEMON, CUT_OFF);
	record(database, 30, DAEMON, IN_ORDER);
	assert_end(database, 30, true);
	assert_int_equal(care_compact(database).made, 1);
	/* What was damaged between the parts is no later than their end. */
	care_shell("touch %s/" HOST "/20260101T000020Z.damaged", database);
	care_shell("echo text >%s/" HOST "/20260101T000025Z.prof", database);
	assert_end(database, 30, true);
	care_shell("touch %s/" HOST "/20260101T000040Z.damaged", database);
	assert_end(database, 30, false);
	care_shell("rm %s/" HOST "/*.damaged", database);
	care_shell("echo text >%s/" HOST "/20260101T000050Z.prof", database);
	assert_end(database, 30, false);
}

static void what_is_still_open_says_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record(database, 10, DAEMON, LEFT_OPEN);
	assert_false(end_of(database).known);
	/* The next one closes it, cut off. */
	record(database, 20, "culprit record -a -o db", IN_ORDER);
	assert_end(database, 10, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_daemon_counts_and_no_other_recording),
		cmocka_unit_test(damage_later_than_it_is_no_end_in_order),
		cmocka_unit_test(another_clocks_future_is_the_last_resort),
		cmocka_unit_test(a_kill_in_another_clocks_future_is_none_in_order),
		cmocka_unit_test(a_kill_before_this_boot_is_earlier_than_its_epochs),
		cmocka_unit_test(of_epochs_in_the_future_one_is_read_in_whole),
		cmocka_unit_test(days_that_were_made_one_epoch_tell_of_no_kill),
		cmocka_unit_test(what_is_still_open_says_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
