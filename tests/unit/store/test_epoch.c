#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/epoch.h"
#include "store/profile_file.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"

static struct profile *merged_seeds(uint64_t first, uint64_t count)
{
	struct profile *into = profile_new();
	struct error err = { 0 };
	for (uint64_t seed = first; seed < first + count; seed++) {
		CLEANUP(profile_freep)
		struct profile *one =
			random_profile_new(seed, seed % 3 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS);
		if (profile_merge(into, one, &err) < 0)
			fail_msg("%s", err.text);
	}
	return into;
}

static void merge_seed(struct epoch *epoch, uint64_t seed)
{
	struct error err = { 0 };
	CLEANUP(profile_freep)
	struct profile *one =
		random_profile_new(seed, seed % 3 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS);
	if (epoch_merge(epoch, one, &err) < 0)
		fail_msg("%s", err.text);
}

static struct epoch *opened(const char *path)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	if (epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err) < 0)
		fail_msg("%s", err.text);
	return epoch;
}

static struct profile *read_file(const char *path, struct profile_file_info *info)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (profile_file_read(path, &profile, info, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static bool exists(const char *path, const char *ending)
{
	char name[512];
	struct stat found;
	snprintf(name, sizeof(name), "%s%s", path, ending);
	return lstat(name, &found) == 0;
}

static uint64_t cut_off_of(const struct profile *profile)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++)
		if (span_equal(profile_bytes(profile, table_keys(bill, row)[BILL_ITEM]),
			       span_of_text(BILL_CUT_OFF)))
			return table_values(bill, row)[0];
	return 0;
}

static void every_merge_can_be_read_at_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = opened(path);
	for (uint64_t i = 0; i < 12; i++) {
		merge_seed(epoch, i);
		struct profile_file_info info;
		CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
		CLEANUP(profile_freep) struct profile *wanted = merged_seeds(0, i + 1);
		assert_true(profiles_are_equal(read, wanted));
		assert_true(profiles_are_equal(epoch_profile(epoch), wanted));
		assert_true(info.being_written);
		assert_false(info.cut_off);
	}
	struct error err = { 0 };
	assert_int_equal(epoch_close(epoch, &err), 0);
	CLEANUP(profile_freep) struct profile *closed = read_file(path, NULL);
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(0, 12);
	assert_true(profiles_are_equal(closed, wanted));
	assert_false(exists(path, ".open"));
	assert_false(exists(path, ".open-wal"));
	assert_false(exists(path, ".open-shm"));
}

/* Thousands of merges write each table anew many times. */
static void many_merges_keep_the_open_file_small(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = opened(path);
	for (int i = 0; i < 1500; i++)
		merge_seed(epoch, (uint64_t)i % 7);
	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
	assert_true(profiles_are_equal(read, epoch_profile(epoch)));
	assert_true(info.file_bytes < 2u << 20);
	epoch_discard(epoch);
	assert_false(exists(path, ".open"));
}

static void a_second_writer_is_refused(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = opened(path);
	struct epoch *second = NULL;
	struct error err = { 0 };
	assert_int_equal(epoch_open(path, EPOCH_KEEP_OLD, &second, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another recording is writing it"));
	merge_seed(epoch, 1);
	epoch_discard(epoch);
}

static void what_a_killed_writer_merged_is_read_and_then_kept(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	pid_t child = fork();
	if (child == 0) {
		struct epoch *epoch = opened(path);
		merge_seed(epoch, 1);
		merge_seed(epoch, 2);
		_exit(0); /* as kill -9 would: nothing is closed */
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);

	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 2);
	CLEANUP(profile_freep) struct profile *left = read_file(path, &info);
	assert_true(profiles_are_equal(left, wanted));
	assert_true(info.cut_off);
	assert_false(info.being_written);

	struct epoch *epoch = opened(path);
	CLEANUP(profile_freep) struct profile *closed = read_file(path, &info);
	assert_false(info.cut_off);
	assert_int_equal(cut_off_of(closed), 1);
	merge_seed(epoch, 5);
	struct error err = { 0 };
	assert_int_equal(epoch_close(epoch, &err), 0);

	char old_path[512];
	snprintf(old_path, sizeof(old_path), "%s.old", path);
	CLEANUP(profile_freep) struct profile *old = read_file(old_path, NULL);
	assert_true(profiles_are_equal(old, closed));
	CLEANUP(profile_freep) struct profile *new = read_file(path, NULL);
	CLEANUP(profile_freep) struct profile *five = merged_seeds(5, 1);
	assert_true(profiles_are_equal(new, five));
}

static void an_earlier_file_becomes_old_or_is_refused(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	struct error err = { 0 };
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct epoch *epoch = opened(path);
		merge_seed(epoch, seed);
		assert_int_equal(epoch_close(epoch, &err), 0);
	}
	char old_path[512];
	snprintf(old_path, sizeof(old_path), "%s.old", path);
	CLEANUP(profile_freep) struct profile *old = read_file(old_path, NULL);
	CLEANUP(profile_freep) struct profile *two = merged_seeds(2, 1);
	assert_true(profiles_are_equal(old, two));
	assert_false(exists(path, ".new"));
	assert_false(exists(path, ".old.new"));
	struct epoch *epoch = NULL;
	assert_int_equal(epoch_open(path, EPOCH_REFUSE, &epoch, &err), -EEXIST);
}

static void names_that_are_no_files_are_refused(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), -EISDIR);
	assert_non_null(strstr(err.text, "it is a folder"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), -ENXIO);
	assert_non_null(strstr(err.text, "it is no regular file"));
	struct profile *profile = NULL;
	assert_int_equal(profile_file_read(path, &profile, NULL, &err), -ENXIO);
	assert_int_equal(unlink(path), 0);
	char below[512];
	snprintf(below, sizeof(below), "%s/none/p", folder.path);
	assert_int_equal(epoch_open(below, EPOCH_KEEP_OLD, &epoch, &err), -ENOENT);
	assert_null(epoch);
}

/* Another process merges without a pause; what is read is always a whole number of its merges. */
static void a_reader_sees_whole_merges_while_they_come(void **state)
{
	(void)state;
	enum { ROUNDS = 60 };
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "p");
	pid_t child = fork();
	if (child == 0) {
		struct epoch *epoch = opened(path);
		for (uint64_t i = 0; i < ROUNDS; i++) {
			CLEANUP(profile_freep) struct profile *one = profile_new();
			if (profile_add_bill(one, 0, OPTIONAL_ABSENT, "round", 1) < 0 ||
			    profile_add_strip(one, i, 0, 0, 1) < 0 ||
			    epoch_merge(epoch, one, NULL) < 0)
				_exit(1);
		}
		_exit(epoch_close(epoch, NULL) < 0);
	}
	size_t last = 0;
	int reads = 0;
	while (last < ROUNDS) {
		struct profile *read = NULL;
		struct error err = { 0 };
		int ret = profile_file_read(path, &read, NULL, &err);
		if (ret == -ENOENT)
			continue; /* before it begins, or between the open and the closed file */
		if (ret < 0)
			fail_msg("%s", err.text);
		const struct table *bill = profile_table(read, PROFILE_BILL);
		size_t rounds = profile_table(read, PROFILE_STRIP)->count;
		assert_int_equal(bill->count ? table_values(bill, 0)[0] : 0, rounds);
		assert_true(rounds >= last);
		last = rounds;
		reads++;
		profile_free(read);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(reads > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_merge_can_be_read_at_once),
		cmocka_unit_test(many_merges_keep_the_open_file_small),
		cmocka_unit_test(a_second_writer_is_refused),
		cmocka_unit_test(what_a_killed_writer_merged_is_read_and_then_kept),
		cmocka_unit_test(a_reader_sees_whole_merges_while_they_come),
		cmocka_unit_test(an_earlier_file_becomes_old_or_is_refused),
		cmocka_unit_test(names_that_are_no_files_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
