#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
#include "store/profile_writer.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"
#include "support/test_profile.h"

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

static void every_merge_can_be_read_at_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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
	assert_int_equal(test_billed(closed, BILL_CUT_OFF), 1);
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
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
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

/* Another process merges without a pause; what is read is always a whole number of its merges. It
 * goes on until it was read twice meanwhile. */
static void a_reader_sees_whole_merges_while_they_come(void **state)
{
	(void)state;
	enum { ROUNDS = 60, READS = 2 };
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	_Atomic int *reads = mmap(NULL, sizeof(*reads), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(reads != MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		struct epoch *epoch = opened(path);
		for (uint64_t i = 0; i < ROUNDS || *reads < READS; i++) {
			CLEANUP(profile_freep) struct profile *one = profile_new();
			if (profile_add_bill(one, 0, OPTIONAL_ABSENT, "round", 1) < 0 ||
			    profile_add_strip(one, i, 0, 0, 1) < 0 ||
			    epoch_merge(epoch, one, NULL) < 0)
				_exit(1);
		}
		_exit(epoch_close(epoch, NULL) < 0);
	}
	size_t last = 0;
	while (last < ROUNDS || *reads < READS) {
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
		++*reads;
		profile_free(read);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	munmap((void *)reads, sizeof(*reads));
}

/* ---- the folder of an open profile */

static const char *joined(const char *path, const char *ending, char out[512])
{
	snprintf(out, 512, "%s%s", path, ending);
	return out;
}

static mode_t mode_of(const char *path)
{
	struct stat found;
	assert_int_equal(lstat(path, &found), 0);
	return found.st_mode & 07777;
}

static void an_open_profile_is_its_owners_alone(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char name[512];
	umask(0);
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	assert_int_equal(mode_of(joined(path, ".open", name)), 0700);
	assert_int_equal(mode_of(joined(path, ".open/profile", name)), 0600);
	assert_int_equal(mode_of(joined(path, ".open/profile-wal", name)), 0600);
	/* Nothing that another could cut short under a mapping of ours. */
	assert_false(exists(path, ".open/profile-shm"));
	epoch_discard(epoch);
	assert_false(exists(path, ".open"));
}

/* Whoever may rename it changes where the name leads, not where we write. */
static void what_takes_the_folders_name_gets_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char open_path[512], moved[512], name[512];
	struct error err = { 0 };
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	joined(path, ".open", open_path);
	assert_int_equal(rename(open_path, joined(folder.path, "/moved.open", moved)), 0);
	assert_int_equal(mkdir(open_path, 0777), 0);
	assert_int_equal(symlink("/nonexistent", joined(path, ".open/profile-wal", name)), 0);
	merge_seed(epoch, 2);
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 2);
	CLEANUP(profile_freep) struct profile *open_one = read_file(moved, NULL);
	assert_true(profiles_are_equal(open_one, wanted));
	assert_int_equal(epoch_close(epoch, &err), 0);
	CLEANUP(profile_freep) struct profile *closed = read_file(path, NULL);
	assert_true(profiles_are_equal(closed, wanted));
	/* It is not ours to remove. */
	assert_true(exists(path, ".open/profile-wal"));
	assert_false(exists(path, ".open/profile"));
}

/* A reader that holds on lets the log grow, and changes nothing else. */
static int hold_readers_byte(const char *path)
{
	char name[512];
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1 };
	int fd = open(joined(path, ".open/profile", name), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

static uint64_t size_of(const char *path, const char *ending)
{
	char name[512];
	struct stat found;
	assert_int_equal(stat(joined(path, ending, name), &found), 0);
	return (uint64_t)found.st_size;
}

static void a_log_is_read_as_far_as_it_counts(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char name[512];
	struct profile_file_info info;
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	int reader = hold_readers_byte(path);
	merge_seed(epoch, 2);
	merge_seed(epoch, 3);
	uint64_t log_bytes = size_of(path, ".open/profile-wal");
	uint64_t file_bytes = size_of(path, ".open/profile");
	assert_true(log_bytes > 4096);
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 3);
	CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
	assert_true(profiles_are_equal(read, wanted));
	assert_int_equal(info.file_bytes, file_bytes + log_bytes);
	/* A terabyte of nothing behind it counts for nothing. */
	assert_int_equal(truncate(joined(path, ".open/profile-wal", name), INT64_C(1) << 40), 0);
	CLEANUP(profile_freep) struct profile *sparse = read_file(path, &info);
	assert_true(profiles_are_equal(sparse, wanted));
	assert_int_equal(info.file_bytes, file_bytes + log_bytes);
	assert_int_equal(truncate(name, (off_t)log_bytes), 0);
	/* Once the reader lets go, the next merge empties the log. */
	close(reader);
	merge_seed(epoch, 4);
	assert_int_equal(size_of(path, ".open/profile-wal"), 0);
	epoch_discard(epoch);
}

/* Reading takes the right to read, and nothing beside the two files. */
static void a_cut_off_log_is_read_in_a_folder_that_cannot_be_written(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char name[512];
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	int reader = hold_readers_byte(path);
	merge_seed(epoch, 2);
	epoch_abandon(epoch);
	close(reader);
	assert_true(size_of(path, ".open/profile-wal") > 4096);
	assert_int_equal(chmod(joined(path, ".open/profile", name), 0444), 0);
	assert_int_equal(chmod(joined(path, ".open/profile-wal", name), 0444), 0);
	assert_int_equal(chmod(joined(path, ".open", name), 0555), 0);
	assert_int_equal(chmod(folder.path, 0555), 0);
	pid_t child = fork();
	if (child == 0) {
		if (geteuid() == 0 && setuid(65534) < 0)
			_exit(2);
		struct profile_file_info info;
		CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 2);
		CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
		_exit(!profiles_are_equal(read, wanted) || !info.cut_off);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(folder.path, 0700), 0);
	assert_int_equal(chmod(name, 0700), 0);
	assert_int_equal(status, 0);
}

/* As a plain file with its log beside it, as some tool may have copied it. */
static void an_open_profile_is_read_as_plain_files(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char from[512], to[512];
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	int reader = hold_readers_byte(path);
	merge_seed(epoch, 2);
	epoch_abandon(epoch);
	close(reader);
	assert_int_equal(rename(joined(path, ".open/profile", from), joined(path, ".it", to)), 0);
	assert_int_equal(
		rename(joined(path, ".open/profile-wal", from), joined(path, ".open-wal", to)), 0);
	assert_int_equal(rmdir(joined(path, ".open", from)), 0);
	assert_int_equal(rename(joined(path, ".it", to), from), 0);
	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 2);
	CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
	assert_true(profiles_are_equal(read, wanted));
	assert_true(info.cut_off);
	/* A log that another put beside it adds nothing; only root can make one here. */
	if (chown(joined(path, ".open-wal", to), 65534, 0) == 0 && geteuid() != 65534) {
		uint64_t with_log = info.file_bytes;
		CLEANUP(profile_freep) struct profile *alone = read_file(path, &info);
		assert_false(profiles_are_equal(alone, wanted));
		assert_true(info.file_bytes < with_log);
	}
	/* But a recording takes over a folder alone. */
	struct error err = { 0 };
	assert_int_equal(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, "away to record here"));
}

static void put_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "left", 4), 4);
	close(fd);
}

static void what_killed_writers_left_under_passing_names_goes(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	char name[512];
	struct error err = { 0 };
	put_file(joined(path, ".new.abcdefghij", name));
	put_file(joined(path, ".new.other", name));	  /* no name of ours */
	put_file(joined(path, "2.new.abcdefghij", name)); /* of another file */
	assert_int_equal(mkdir(joined(path, ".open.abcdefghij", name), 0700), 0);
	put_file(joined(path, ".open.abcdefghij/profile", name));
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	assert_false(exists(path, ".open.abcdefghij"));
	assert_int_equal(epoch_close(epoch, &err), 0);
	assert_false(exists(path, ".new.abcdefghij"));
	assert_true(exists(path, ".new.other"));
	assert_true(exists(path, "2.new.abcdefghij"));
}

static void what_comes_in_the_way_does_not_cost_the_profile(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct error err = { 0 };
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(epoch_close(epoch, &err), -EISDIR);
	char *instead = strstr(err.text, "; the profile is '");
	assert_non_null(instead);
	instead += strlen("; the profile is '");
	*strchr(instead, '\'') = 0;
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 1);
	CLEANUP(profile_freep) struct profile *read = read_file(instead, NULL);
	assert_true(profiles_are_equal(read, wanted));
	assert_false(exists(path, ".open"));
}

/* Gone when asked for the third time. */
static bool goes_soon(void *asked)
{
	return ++*(int *)asked == 3;
}

static void who_waits_no_more_finds_the_open_file(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct error err = { 0 };
	int asked = 0;
	const struct profile_waiter waiter = { goes_soon, &asked };
	struct epoch *epoch = opened(path);
	merge_seed(epoch, 1);
	assert_int_equal(epoch_close_for(&waiter, epoch, &err), -ECANCELED);
	assert_int_equal(asked, 3);
	assert_false(exists(path, ""));
	assert_true(exists(path, ".open"));
	struct profile_file_info info;
	CLEANUP(profile_freep) struct profile *wanted = merged_seeds(1, 1);
	CLEANUP(profile_freep) struct profile *read = read_file(path, &info);
	assert_true(profiles_are_equal(read, wanted));
	assert_true(info.cut_off);
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
		cmocka_unit_test(an_open_profile_is_its_owners_alone),
		cmocka_unit_test(what_takes_the_folders_name_gets_nothing),
		cmocka_unit_test(a_log_is_read_as_far_as_it_counts),
		cmocka_unit_test(a_cut_off_log_is_read_in_a_folder_that_cannot_be_written),
		cmocka_unit_test(an_open_profile_is_read_as_plain_files),
		cmocka_unit_test(what_killed_writers_left_under_passing_names_goes),
		cmocka_unit_test(what_comes_in_the_way_does_not_cost_the_profile),
		cmocka_unit_test(who_waits_no_more_finds_the_open_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
