/* An epoch that ends is written while its owner goes on. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/closing.h"
#include "profile/profile.h"
#include "store/epoch.h"
#include "store/profile_file.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"
#include "unit/store/crash_disk.h"

#define MANY UINT64_C(300000)

static struct test_profile profile_of(uint64_t addresses)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cpu-clock", 1000000);
	test_image(&test, IMAGE_FILE, "/bin/large", "00112233445566778899aabbccddeeff00112233");
	for (uint64_t i = 0; i < addresses; i++)
		test_address(&test, i * 16, 1, 1000000);
	return test;
}

static struct epoch *epoch_of(const char *path, uint64_t addresses)
{
	struct error err = { 0 };
	struct epoch *epoch = NULL;
	struct test_profile test = profile_of(addresses);
	if (epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err) < 0 ||
	    epoch_merge(epoch, test.profile, &err) < 0)
		fail_msg("%s", err.text);
	profile_free(test.profile);
	return epoch;
}

static size_t rows_of(const char *path)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	if (profile_file_read(path, &profile, NULL, &err) < 0)
		fail_msg("%s", err.text);
	return profile_table(profile, PROFILE_FLAT)->count;
}

static void the_next_epoch_is_filled_while_the_last_one_is_written(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *first = temporary_folder_path(&folder, "first.prof");
	const char *second = temporary_folder_path(&folder, "second.prof");
	struct closing closing = { 0 };
	struct error err = { 0 };
	assert_false(closing_is_running(&closing));
	assert_int_equal(closing_poll_fd(&closing), -1);
	assert_int_equal(closing_start(&closing, epoch_of(first, MANY), NULL, &err), 0);
	assert_true(closing_is_running(&closing));
	struct epoch *next = epoch_of(second, 10);
	struct pollfd over = { closing_poll_fd(&closing), POLLIN, 0 };
	assert_int_equal(poll(&over, 1, 60000), 1);
	assert_true(closing_is_over(&closing));
	assert_int_equal(closing_join(&closing, &err), 0);
	assert_false(closing_is_running(&closing) || closing_is_over(&closing));
	assert_int_equal(rows_of(first), MANY);
	assert_int_equal(closing_start(&closing, next, NULL, &err), 0);
	assert_int_equal(closing_join(&closing, &err), 0);
	assert_int_equal(rows_of(second), 10);
	assert_int_equal(closing_join(&closing, &err), 0); /* nothing to take */
}

/* What it still lacks comes with it. */
static void the_last_delta_is_in_what_is_written(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "a.prof");
	struct test_profile delta = profile_of(20);
	struct closing closing = { 0 };
	struct error err = { 0 };
	assert_int_equal(closing_start(&closing, epoch_of(path, 10), delta.profile, &err), 0);
	assert_int_equal(closing_join(&closing, &err), 0);
	assert_int_equal(rows_of(path), 20);
}

/* Whether the epoch was left open, as it is unless its thread was faster. */
static bool is_left_open(const char *path)
{
	struct epoch_options options = { .earlier = EPOCH_KEEP_OLD };
	struct closing closing = { 0 };
	struct error err = { 0 };
	closing_hurry(&closing); /* none runs: that is of no later one */
	assert_int_equal(closing_start(&closing, epoch_of(path, MANY), NULL, &err), 0);
	closing_hurry(&closing);
	int ret = closing_join(&closing, &err);
	if (ret == 0)
		return false;
	assert_int_equal(ret, -ECANCELED);
	assert_string_equal(err.text,
			    "asked a second time to end: the open file is left, cut off, and "
			    "has the samples but not all names");
	assert_int_equal(epoch_close_leftover(path, &options, &err), 0);
	assert_int_equal(rows_of(path), MANY);
	return true;
}

/* Asked a second time to end: what was merged stays, to be closed later. */
static void one_that_is_hurried_stays_open_with_all_that_it_has(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "a.prof");
	for (int attempt = 0; attempt < 10; attempt++)
		if (is_left_open(path))
			return;
	fail_msg("ten were written to the end though they were hurried");
}

static void what_cannot_be_written_is_said_when_it_is_taken(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "a.prof");
	struct closing closing = { 0 };
	struct error err = { 0 };
	struct epoch *epoch = epoch_of(path, 10);
	assert_int_equal(mkdir(path, 0700), 0); /* in the way */
	assert_int_equal(closing_start(&closing, epoch, NULL, &err), 0);
	assert_int_not_equal(closing_join(&closing, &err), 0);
	assert_true(err.text[0]);
	assert_false(closing_is_running(&closing));
}

/* Waits until the thread has said that the disk is full. */
static void await_trouble(struct closing *closing)
{
	struct error err = { 0 };
	while (!closing_trouble(closing, &err)) {
		assert_false(closing_is_over(closing));
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_int_equal(err.code, -ENOSPC);
	assert_non_null(strstr(err.text, "No space left on device"));
	assert_false(closing_trouble(closing, &err)); /* once */
}

static void a_full_disk_is_waited_for(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "a.prof");
	struct test_profile delta = profile_of(20);
	struct closing closing = { 0 };
	struct error err = { 0 };
	struct epoch *epoch = epoch_of(path, 10);
	crash_disk_fail(1, 1);
	assert_int_equal(closing_start(&closing, epoch, delta.profile, &err), 0);
	await_trouble(&closing);
	crash_disk_fail(0, 0);
	struct pollfd over = { closing_poll_fd(&closing), POLLIN, 0 };
	assert_int_equal(poll(&over, 1, 60000), 1);
	assert_int_equal(closing_join(&closing, &err), 0);
	assert_int_equal(rows_of(path), 20);
}

/* At the end of a recording: what was merged before stays in the open folder. */
static void a_disk_that_stays_full_is_given_up(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const struct epoch_options options = { .earlier = EPOCH_KEEP_OLD };
	const char *path = temporary_folder_path(&folder, "a.prof");
	struct closing closing = { 0 };
	struct error err = { 0 };
	struct epoch *epoch = epoch_of(path, 10);
	crash_disk_fail(1, 1);
	assert_int_equal(closing_start(&closing, epoch, NULL, &err), 0);
	await_trouble(&closing);
	closing_give_up(&closing);
	assert_int_equal(closing_join(&closing, &err), -ENOSPC);
	crash_disk_fail(0, 0);
	assert_int_equal(epoch_close_leftover(path, &options, &err), 0);
	assert_int_equal(rows_of(path), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_epoch_is_filled_while_the_last_one_is_written),
		cmocka_unit_test(the_last_delta_is_in_what_is_written),
		cmocka_unit_test(one_that_is_hurried_stays_open_with_all_that_it_has),
		cmocka_unit_test(what_cannot_be_written_is_said_when_it_is_taken),
		cmocka_unit_test(a_full_disk_is_waited_for),
		cmocka_unit_test(a_disk_that_stays_full_is_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
