/* Pruning, compacting and copying databases that are killed, on a full disk, and beside readers. */
#include <dirent.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/database.h"
#include "store/database_compact.h"
#include "store/database_copy.h"
#include "store/database_prune.h"
#include "store/database_stash.h"
#include "store/epoch.h"
#include "store/pack_files.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"
#include "unit/store/crash_disk.h"
#include "unit/store/database_care.h"
#include "unit/store/made_database.h"

/* ---- crashes and full disks */

/* Makes what a crash leaves. False when that is the same as after the operation before: it has been
 * looked at. */
static bool leaves_another(const char *folder, size_t count, int kind, uint64_t disks[CRASH_KINDS])
{
	uint64_t disk = crash_disk_restore(folder, count, (enum crash_kind)kind, count);
	bool other = disk != disks[kind];
	disks[kind] = disk;
	return other;
}

#define CRASH_HOURS 3

/* A database of one day, then its compaction. */
static void make_and_compact(const char *database)
{
	care_record_hours(database, "a", 0, CRASH_HOURS, NULL);
	crash_disk_promise(1);
	care_compact(database);
	crash_disk_promise(2);
}

static void a_compaction_may_crash_anywhere(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	crash_disk_begin(folder.path);
	const char *database = temporary_folder_path(&folder, "db");
	make_and_compact(database);
	crash_disk_end();
	CLEANUP(profile_freep) struct profile *wanted = made_read(database, NULL);
	size_t operations = crash_disk_operations(), looked = 0;
	uint64_t disks[CRASH_KINDS] = { 0 };
	for (size_t count = 0; count <= operations; count++) {
		if (crash_disk_promised(count) < 1)
			continue;
		for (int kind = 0; kind < CRASH_KINDS; kind++) {
			CLEANUP(temporary_folder_remove)
			struct temporary_folder left = temporary_folder_make_in_memory();
			if (!leaves_another(left.path, count, kind, disks))
				continue;
			const char *found = temporary_folder_path(&left, "db");
			care_assert_same(found, wanted);
			care_compact(found);
			care_assert_same(found, wanted);
			assert_int_equal(made_count_files(found, ".prof"), 1);
			looked++;
		}
	}
	assert_true(looked > 2 * CRASH_KINDS);
}

/* ---- the end of an epoch */

enum { END_MERGED = 1, END_MERGED_LAST, END_CLOSED };

/* An epoch with one merge, one last merge and its end. */
static void make_epoch_and_end_it(const char *database)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *first = made_profile("a", 1, MADE_START_NS, NULL);
	CLEANUP(profile_freep) struct profile *last = made_profile("a", 2, MADE_START_NS, NULL);
	made_must(database_open_epoch(database, "a", MADE_START_NS, &epoch, &err), &err);
	made_must(epoch_merge(epoch, first, &err), &err);
	crash_disk_promise(END_MERGED);
	made_must(epoch_merge_last(epoch, last, &err), &err);
	crash_disk_promise(END_MERGED_LAST);
	made_must(epoch_close(epoch, &err), &err);
	crash_disk_promise(END_CLOSED);
}

/* What merging these seeds leads to; without their code, which may be missing for a while. */
static struct profile *merged(uint64_t last_seed, bool with_code)
{
	struct profile *all = profile_new();
	struct error err = { 0 };
	for (uint64_t seed = 1; seed <= last_seed; seed++) {
		CLEANUP(profile_freep)
		struct profile *one = made_profile("a", seed, MADE_START_NS, NULL);
		made_must(profile_merge(all, one, &err), &err);
	}
	if (!with_code)
		table_clear(all->tables[PROFILE_STASH]);
	return all;
}

static bool is_merged(const char *database, uint64_t last_seed, bool with_code)
{
	CLEANUP(profile_freep) struct profile *read = made_read(database, &care_all_aloud);
	CLEANUP(profile_freep) struct profile *wanted = merged(last_seed, with_code);
	if (!with_code)
		table_clear(read->tables[PROFILE_STASH]);
	return profiles_are_equal(read, wanted);
}

static void count_fault(void *context, const char *path, const char *sentence)
{
	print_message("%s: %s\n", path, sentence);
	++*(uint64_t *)context;
}

/* The next epoch closes what was left. Counts what the packs and files have of code by then. */
static size_t code_after_next_epoch(const char *database)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	uint64_t packs, faults = 0;
	made_must(database_open_epoch(database, "a", MADE_START_NS + 10 * MADE_SECOND_NS, &epoch,
				      &err),
		  &err);
	epoch_discard(epoch);
	made_must(database_verify_stash(database, count_fault, &faults, &packs, &err), &err);
	assert_int_equal(faults, 0);
	CLEANUP(profile_freep) struct profile *read = made_read(database, &care_all_aloud);
	return profile_table(read, PROFILE_STASH)->count;
}

/* Two that close one leftover, the first of which is killed before the open folder is gone. */
static void a_leftover_that_was_closed_already_is_no_damage(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	CLEANUP(profile_freep) struct profile *profile = made_profile("a", 1, MADE_START_NS, NULL);
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	made_must(database_open_epoch(database, "a", MADE_START_NS, &epoch, &err), &err);
	made_must(epoch_merge(epoch, profile, &err), &err);
	epoch_abandon(epoch);
	care_shell("cp -r %s/a %s/kept", database, folder.path);
	code_after_next_epoch(database);
	care_shell("cp -rn %s/kept/. %s/a/", folder.path, database);
	assert_int_equal(made_count_files(database, ".prof"), 1);
	size_t code = code_after_next_epoch(database);
	assert_int_equal(code, profile_table(profile, PROFILE_STASH)->count);
	assert_int_equal(made_count_files(database, ".prof"), 1);
	care_shell("! ls %s/a | grep -e damaged -e open", database);
}

static void the_end_of_an_epoch_may_crash_anywhere(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	crash_disk_begin(folder.path);
	make_epoch_and_end_it(temporary_folder_path(&folder, "db"));
	crash_disk_end();
	CLEANUP(profile_freep) struct profile *whole = merged(2, true);
	size_t operations = crash_disk_operations(), looked = 0;
	size_t all_code = profile_table(whole, PROFILE_STASH)->count;
	uint64_t disks[CRASH_KINDS] = { 0 };
	for (size_t count = 0; count <= operations; count++) {
		int promised = crash_disk_promised(count);
		for (int kind = 0; kind < CRASH_KINDS && promised >= END_MERGED; kind++) {
			CLEANUP(temporary_folder_remove)
			struct temporary_folder left = temporary_folder_make_in_memory();
			if (!leaves_another(left.path, count, kind, disks))
				continue;
			looked++;
			const char *found = temporary_folder_path(&left, "db");
			bool has_last = is_merged(found, 2, promised >= END_MERGED_LAST);
			assert_true(has_last ||
				    (promised == END_MERGED && is_merged(found, 1, true)));
			size_t code = code_after_next_epoch(found);
			assert_in_range(code, promised >= END_MERGED_LAST ? all_code : all_code / 2,
					all_code);
		}
	}
	assert_true(looked > 3 * CRASH_KINDS);
}

/* Each operation of the end fails once, or from then on until it is tried again. */
static bool ends_on_full_disk(size_t k, int for_good)
{
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	CLEANUP(profile_freep) struct profile *first = made_profile("a", 1, MADE_START_NS, NULL);
	CLEANUP(profile_freep) struct profile *last = made_profile("a", 2, MADE_START_NS, NULL);
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	made_must(database_open_epoch(database, "a", MADE_START_NS, &epoch, &err), &err);
	made_must(epoch_merge(epoch, first, &err), &err);
	crash_disk_fail(k, for_good);
	int merged_last = epoch_merge_last(epoch, last, &err);
	int closed = epoch_try_close(NULL, &epoch, &err);
	bool failed = crash_disk_failed();
	crash_disk_fail(0, 0);
	assert_true((merged_last == 0 && closed == 0) || failed);
	if (epoch)
		made_must(epoch_try_close(NULL, &epoch, &err), &err);
	assert_true(is_merged(database, 2, true));
	return failed;
}

static void a_full_disk_at_the_end_of_an_epoch_costs_nothing(void **state)
{
	(void)state;
	for (int for_good = 0; for_good < 2; for_good++) {
		size_t k = 1;
		while (ends_on_full_disk(k, for_good))
			k++;
		assert_true(k > 5);
	}
}

/* ---- compaction */

/* The k-th operation fails as on a full disk, and all later ones with `for_good`. */
static bool compacts_on_full_disk(size_t k, int for_good)
{
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	const struct database_compaction compaction = { .now_ns = MADE_START_NS + 400 * CARE_DAY_NS,
							.note = care_hear };
	struct database_compacted done;
	struct error err = { 0 };
	care_record_hours(database, "a", 0, 2, NULL);
	CLEANUP(profile_freep) struct profile *wanted = made_read(database, NULL);
	care_noted = 0;
	crash_disk_fail(k, for_good);
	int ret = database_compact(database, &compaction, &done, &err);
	bool failed = crash_disk_failed();
	crash_disk_fail(0, 0);
	assert_true(ret == 0 || failed);
	assert_true(ret == 0 || strlen(err.text) > 10);
	care_assert_same(database, wanted);
	care_compact(database);
	care_assert_same(database, wanted);
	assert_int_equal(made_count_files(database, ".prof"), 1);
	return failed;
}

static void a_full_disk_stops_no_later_compaction(void **state)
{
	(void)state;
	for (int for_good = 0; for_good < 2; for_good++) {
		size_t k = 1;
		while (compacts_on_full_disk(k, for_good))
			k++;
		assert_true(k > 5);
	}
}

/* What is left of a pruned database that was killed is a database: whole epochs with their code. */
static void pruning_may_crash_anywhere(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const struct database_retention retention = { .older_than_ns = 1,
						      .now_ns = clock_realtime_ns() + CARE_DAY_NS };
	crash_disk_begin(folder.path);
	const char *database = temporary_folder_path(&folder, "db");
	for (unsigned i = 0; i < 6; i++)
		care_record_code(database, i);
	crash_disk_promise(1);
	care_prune(database, retention);
	crash_disk_end();
	size_t operations = crash_disk_operations(), looked = 0;
	uint64_t disks[CRASH_KINDS] = { 0 };
	for (size_t count = 0; count <= operations; count++) {
		if (crash_disk_promised(count) < 1)
			continue;
		for (int kind = 0; kind < CRASH_KINDS; kind++) {
			CLEANUP(temporary_folder_remove)
			struct temporary_folder left = temporary_folder_make_in_memory();
			if (!leaves_another(left.path, count, kind, disks))
				continue;
			looked++;
			const char *found = temporary_folder_path(&left, "db");
			care_noted = 0;
			CLEANUP(profile_freep)
			struct profile *read = made_read(found, &care_all_aloud);
			assert_int_equal(care_noted, 0);
			assert_in_range(profile_table(read, PROFILE_SOURCE)->count, 3, 6);
			assert_int_equal(profile_table(read, PROFILE_STASH)->count, 6);
			care_prune(found, retention);
			assert_int_equal(made_count_files(found, ".prof"), 3);
		}
	}
	assert_true(looked > CRASH_KINDS);
}

/* An epoch that is there has its code, and the next copy brings the rest. */
static void a_copy_may_crash_anywhere(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	CLEANUP(temporary_folder_remove)
	struct temporary_folder from = temporary_folder_make_in_memory();
	const char *source = temporary_folder_path(&from, "db");
	struct database_copied copied;
	struct error err = { 0 };
	for (unsigned i = 0; i < 3; i++)
		care_record_code(source, i);
	CLEANUP(profile_freep) struct profile *wanted = made_read(source, NULL);
	crash_disk_begin(folder.path);
	const char *database = temporary_folder_path(&folder, "db");
	made_must(database_copy(source, database, NULL, &copied, &err), &err);
	crash_disk_end();
	assert_int_equal(copied.epochs, 3);
	care_assert_same(database, wanted);
	size_t operations = crash_disk_operations();
	uint64_t disks[CRASH_KINDS] = { 0 };
	for (size_t count = 0; count <= operations; count++)
		for (int kind = 0; kind < CRASH_KINDS; kind++) {
			CLEANUP(temporary_folder_remove)
			struct temporary_folder left = temporary_folder_make_in_memory();
			if (!leaves_another(left.path, count, kind, disks))
				continue;
			const char *found = temporary_folder_path(&left, "db");
			if (made_count_files(left.path, ".prof")) {
				care_noted = 0;
				CLEANUP(profile_freep)
				struct profile *read = made_read(found, &care_all_aloud);
				assert_int_equal(care_noted, 0);
				assert_int_equal(profile_table(read, PROFILE_STASH)->count, 3);
			}
			made_must(database_copy(source, found, NULL, &copied, &err), &err);
			assert_int_equal(copied.epochs + copied.there, 3);
			care_assert_same(found, wanted);
		}
}

/* ---- readers beside it */

#define ROUNDS 12

/* Another process compacts the epochs, and puts them back, again and again. */
static void a_reader_beside_compactions_counts_all_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 6, NULL);
	CLEANUP(profile_freep) struct profile *wanted = made_read(database, NULL);
	care_shell("cp -r %s/a %s/kept", database, folder.path);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			care_compact(database);
			care_shell("cp -rn %s/kept/. %s/a/ && rm -f %s/a/*+*.prof", folder.path,
				   database, database);
		}
		_exit(0);
	}
	int status = 0;
	unsigned reads = 0;
	while (waitpid(child, &status, WNOHANG) == 0) {
		struct profile *read = NULL;
		struct error err = { 0 };
		int ret = database_read(database, NULL, &read, &err);
		/* a cp(1) in the middle is a torn file, which no compaction leaves */
		if (ret == 0)
			assert_true(profiles_are_equal(read, wanted));
		else
			assert_true(ret == -EBADMSG || ret == -EAGAIN || ret == -EPROTO);
		reads += ret == 0;
		profile_free(read);
	}
	assert_int_equal(status, 0);
	assert_true(reads > 0);
}

#define MANY_PACKS 24

/* Gives each file in `kept` its name in `image`, too; then removes all others there. */
static void put_back(const char *kept, const char *image)
{
	DIR *folder = opendir(kept);
	struct dirent *found;
	char from[1024], to[1024];
	while ((found = readdir(folder))) {
		snprintf(from, sizeof(from), "%s/%s", kept, found->d_name);
		snprintf(to, sizeof(to), "%s/%s", image, found->d_name);
		if (found->d_name[0] != '.' && link(from, to) < 0 && errno != EEXIST)
			_exit(2);
	}
	closedir(folder);
	folder = opendir(image);
	while ((found = readdir(folder))) {
		snprintf(from, sizeof(from), "%s/%s", kept, found->d_name);
		snprintf(to, sizeof(to), "%s/%s", image, found->d_name);
		if (found->d_name[0] != '.' && access(from, F_OK) < 0)
			unlink(to);
	}
	closedir(folder);
}

/* Another process merges packs, and puts the small ones back. */
static void a_reader_beside_merged_packs_misses_none(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	const char *kept = temporary_folder_path(&folder, "kept");
	const char *one = temporary_folder_path(&folder, "one");
	char image[512];
	snprintf(image, sizeof(image), "%s/images/70726f6772616d", database);
	care_record_code(database, 0);
	care_shell("cp -r %s %s", image, kept);
	for (unsigned i = 1; i < MANY_PACKS; i++) {
		care_record_code(one, i);
		care_shell("mv %s/images/*/* %s/ && rm -r %s", one, kept, one);
	}
	put_back(kept, image);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		for (int i = 0; i < 20 * ROUNDS; i++) {
			uint64_t removed = 0;
			if (pack_files_merge(image, 2, &removed, NULL, NULL) < 0 || !removed)
				_exit(1);
			put_back(kept, image);
		}
		_exit(0);
	}
	int status = 0;
	unsigned reads = 0;
	for (; waitpid(child, &status, WNOHANG) == 0; reads++)
		assert_int_equal(care_records_in(database), MANY_PACKS);
	assert_int_equal(status, 0);
	assert_true(reads > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_an_epoch_may_crash_anywhere),
		cmocka_unit_test(a_leftover_that_was_closed_already_is_no_damage),
		cmocka_unit_test(a_full_disk_at_the_end_of_an_epoch_costs_nothing),
		cmocka_unit_test(a_compaction_may_crash_anywhere),
		cmocka_unit_test(a_full_disk_stops_no_later_compaction),
		cmocka_unit_test(pruning_may_crash_anywhere),
		cmocka_unit_test(a_copy_may_crash_anywhere),
		cmocka_unit_test(a_reader_beside_compactions_counts_all_once),
		cmocka_unit_test(a_reader_beside_merged_packs_misses_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
