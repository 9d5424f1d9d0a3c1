/* What was merged is there after a crash at any operation, and after any of them failed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
#include "unit/store/crash_disk.h"

/* Two recordings into one name, MERGES merges each. */
#define MERGES 3

static struct profile *wanted[2][MERGES + 1]; /* canonical, after so many merges */

static struct profile *part(int recording, int merge)
{
	uint64_t seed = (uint64_t)(recording * 100 + merge);
	return random_profile_new(seed, seed % 3 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS);
}

static int make_wanted(void **state)
{
	(void)state;
	for (int recording = 0; recording < 2; recording++) {
		CLEANUP(profile_freep) struct profile *sum = profile_new();
		for (int merge = 0; merge <= MERGES; merge++) {
			if (merge) {
				CLEANUP(profile_freep) struct profile *one = part(recording, merge);
				assert_int_equal(profile_merge(sum, one, NULL), 0);
			}
			assert_int_equal(profile_canonical(sum, &wanted[recording][merge]), 0);
		}
	}
	return 0;
}

static int free_wanted(void **state)
{
	(void)state;
	for (int recording = 0; recording < 2; recording++)
		for (int merge = 0; merge <= MERGES; merge++)
			profile_free(wanted[recording][merge]);
	return 0;
}

/* The bill without its row `row`. */
static void without_mark(struct profile *profile, size_t row)
{
	struct table *bill = profile->tables[PROFILE_BILL];
	struct table *rest = table_new(bill->name, bill->columns, bill->column_count);
	for (size_t i = 0; i < bill->count; i++)
		if (i != row)
			assert_int_equal(
				table_add(rest, table_keys(bill, i), table_values(bill, i), NULL),
				0);
	table_free(bill);
	profile->tables[PROFILE_BILL] = rest;
}

/* How many merges of each recording a file holds, or -1 of what it is not or holds in part. */
struct holding {
	int merges[2];
};

static struct holding holding_of(const char *folder, const char *name)
{
	char path[512];
	struct stat found;
	struct holding holding = { { -1, -1 } };
	CLEANUP(profile_freep) struct profile *read = NULL;
	CLEANUP(profile_freep) struct profile *canonical = NULL;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (lstat(path, &found) < 0 || profile_file_read(path, &read, NULL, NULL) < 0)
		return holding;
	/* The mark of a leftover that was closed says nothing of its content. */
	struct table *bill = read->tables[PROFILE_BILL];
	for (size_t row = 0; row < bill->count; row++)
		if (span_equal(profile_bytes(read, table_keys(bill, row)[BILL_ITEM]),
			       span_of_text(BILL_CUT_OFF))) {
			without_mark(read, row);
			break;
		}
	assert_int_equal(profile_canonical(read, &canonical), 0);
	for (int recording = 0; recording < 2; recording++)
		for (int merge = MERGES; merge >= 0 && holding.merges[recording] < 0; merge--)
			if (profiles_are_identical(canonical, wanted[recording][merge]))
				holding.merges[recording] = merge;
	return holding;
}

static int merges_in(const char *folder, const char *name, int recording)
{
	return holding_of(folder, name).merges[recording];
}

/* Promises: 100 * recording + merges done, + 50 when closed. */
static void record_twice(const char *path)
{
	struct error err = { 0 };
	for (int recording = 0; recording < 2; recording++) {
		struct epoch *epoch = NULL;
		if (epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err) < 0)
			fail_msg("%s", err.text);
		for (int merge = 1; merge <= MERGES; merge++) {
			CLEANUP(profile_freep) struct profile *one = part(recording, merge);
			if (epoch_merge(epoch, one, &err) < 0)
				fail_msg("%s", err.text);
			crash_disk_promise(100 * recording + merge);
		}
		if (epoch_close(epoch, &err) < 0)
			fail_msg("%s", err.text);
		crash_disk_promise(100 * recording + 50 + MERGES);
	}
}

/* What is under each name in the folder: each file is read once, which is what this test costs. */
struct found {
	struct holding closed, old, open;
};

static struct found find(const char *folder)
{
	return (struct found){ .closed = holding_of(folder, "p"),
			       .old = holding_of(folder, "p.old"),
			       .open = holding_of(folder, "p.open") };
}

/* The best copy of a recording. */
static int best_of(const struct found *found, int recording)
{
	int best = found->closed.merges[recording];
	best = best > found->old.merges[recording] ? best : found->old.merges[recording];
	return best > found->open.merges[recording] ? best : found->open.merges[recording];
}

/* Of the first recording and the second so many merges must be there. */
static void assert_kept(const struct found *found, const int least[2], size_t count,
			enum crash_kind kind, const char *when)
{
	for (int recording = 0; recording < 2; recording++)
		if (least[recording] && best_of(found, recording) < least[recording])
			fail_msg("crash %d after operation %zu, %s: promised %d and %d, "
				 "found %d and %d",
				 (int)kind, count, when, least[0], least[1], best_of(found, 0),
				 best_of(found, 1));
}

/* What the last crash of each kind left, and what the next recording made of that. */
static struct {
	uint64_t disk;
	struct found at_once, later;
	bool looked, continued;
} left[CRASH_KINDS];

/* The next recording begins where a crash left p, and is given up at once. */
static struct found begin_the_next(const char *folder, size_t count, enum crash_kind kind)
{
	char path[512];
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	snprintf(path, sizeof(path), "%s/p", folder);
	if (epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err) < 0)
		fail_msg("crash %d after operation %zu: %s", (int)kind, count, err.text);
	epoch_discard(epoch);
	return find(folder);
}

/*
 * Most operations leave a disk that lost power as it was: the same disk is looked at once. What was
 * promised meanwhile is asked of it each time.
 */
static void check_after_crash(size_t count, enum crash_kind kind)
{
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	uint64_t disk = crash_disk_restore(folder.path, count, kind, count * 7 + (size_t)kind);
	int promised = crash_disk_promised(count);
	const int least[] = { promised >= 50 ? MERGES : promised,
			      promised >= 100 ? promised % 50 : 0 };
	if (!left[kind].looked || left[kind].disk != disk) {
		left[kind].disk = disk;
		left[kind].at_once = find(folder.path);
		left[kind].looked = true;
		left[kind].continued = false;
	}
	const struct found *found = &left[kind].at_once;
	assert_kept(found, least, count, kind, "at once");
	/* A closed file under its name is whole: the newest that was promised, or newer. */
	if (promised >= 50 && promised < 100)
		assert_true(found->closed.merges[0] == MERGES || found->closed.merges[1] == MERGES);
	/* And what is left does not stop the next recording, which keeps it. */
	if (count % 4 != (size_t)kind)
		return;
	if (!left[kind].continued)
		left[kind].later = begin_the_next(folder.path, count, kind);
	left[kind].continued = true;
	assert_kept(&left[kind].later, least, count, kind, "when the next recording began");
}

static void what_was_merged_survives_a_crash_at_every_operation(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	crash_disk_begin(folder.path);
	record_twice(temporary_folder_path(&folder, "p"));
	crash_disk_end();
	size_t operations = crash_disk_operations();
	assert_true(operations > 50);
	for (size_t count = 0; count <= operations; count++)
		for (int kind = 0; kind < CRASH_KINDS; kind++)
			check_after_crash(count, (enum crash_kind)kind);
	print_message("%zu operations, %d kinds of crash\n", operations, CRASH_KINDS);
}

/* One failed operation: it is said, nothing is damaged, and the next merge has it all. */
static bool survives_failure(size_t k)
{
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	crash_disk_fail(k, 0);
	int ret = epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err);
	if (ret < 0) {
		assert_true(crash_disk_failed());
		assert_true(strlen(err.text) > 10);
		crash_disk_fail(0, 0);
		return true;
	}
	int stored = 0;
	for (int merge = 1; merge <= MERGES; merge++) {
		CLEANUP(profile_freep) struct profile *one = part(0, merge);
		if (epoch_merge(epoch, one, &err) == 0)
			stored = merge;
		else
			assert_true(crash_disk_failed());
		assert_true(merges_in(folder.path, "p.open", 0) >= stored);
	}
	assert_int_equal(stored, MERGES - (crash_disk_failed() && stored != MERGES));
	ret = epoch_close(epoch, &err);
	bool failed = crash_disk_failed();
	crash_disk_fail(0, 0);
	if (ret < 0) {
		assert_true(failed);
		assert_true(merges_in(folder.path, "p.open", 0) >= stored ||
			    merges_in(folder.path, "p", 0) == MERGES);
	} else {
		assert_int_equal(merges_in(folder.path, "p", 0), MERGES);
	}
	return failed;
}

static void a_disk_full_at_any_operation_damages_nothing(void **state)
{
	(void)state;
	size_t k = 1;
	while (survives_failure(k))
		k++;
	assert_true(k > 30);
	print_message("each of %zu operations failed once\n", k - 1);
}

/* From operation k on the disk stays full. */
static bool survives_full_disk(size_t k)
{
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	crash_disk_fail(k, 1);
	int stored = 0;
	if (epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err) == 0) {
		for (int merge = 1; merge <= MERGES; merge++) {
			CLEANUP(profile_freep) struct profile *one = part(0, merge);
			if (epoch_merge(epoch, one, &err) == 0)
				stored = merge;
		}
		if (epoch_close(epoch, &err) == 0)
			stored = MERGES;
	}
	bool failed = crash_disk_failed();
	crash_disk_fail(0, 0);
	struct found found = find(folder.path);
	assert_true(stored == 0 || best_of(&found, 0) >= stored);
	return failed;
}

static void a_disk_that_stays_full_keeps_what_was_merged(void **state)
{
	(void)state;
	size_t k = 1;
	while (survives_full_disk(k))
		k++;
	assert_true(k > 30);
}

/* As long as the disk is full, closing can be tried again, and then all is there. */
static void closing_can_be_tried_again_on_a_full_disk(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *path = temporary_folder_path(&folder, "p");
	for (size_t k = 1, failures = 1; failures; k++) {
		struct epoch *epoch = NULL;
		struct error err = { 0 };
		assert_int_equal(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), 0);
		for (int merge = 1; merge <= MERGES; merge++) {
			CLEANUP(profile_freep) struct profile *one = part(0, merge);
			assert_int_equal(epoch_merge(epoch, one, &err), 0);
		}
		failures = 0;
		crash_disk_fail(k, 1);
		for (int i = 0; epoch && i < 3; i++)
			failures += epoch_try_close(NULL, &epoch, &err) < 0;
		assert_true(failures || !epoch);
		if (epoch)
			assert_int_equal(merges_in(folder.path, "p.open", 0), MERGES);
		crash_disk_fail(0, 0);
		if (epoch)
			assert_int_equal(epoch_try_close(NULL, &epoch, &err), 0);
		assert_null(epoch);
		assert_int_equal(merges_in(folder.path, "p", 0), MERGES);
		assert_true(k < 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_merged_survives_a_crash_at_every_operation),
		cmocka_unit_test(a_disk_full_at_any_operation_damages_nothing),
		cmocka_unit_test(closing_can_be_tried_again_on_a_full_disk),
		cmocka_unit_test(a_disk_that_stays_full_keeps_what_was_merged),
	};
	return cmocka_run_group_tests(tests, make_wanted, free_wanted);
}
