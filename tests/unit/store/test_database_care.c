/* Pruning, compacting and copying databases. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
#include "store/database_lock.h"
#include "store/database_prune.h"
#include "store/database_stash.h"
#include "store/epoch.h"
#include "store/pack_files.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"
#include "unit/store/database_care.h"
#include "unit/store/made_database.h"

/* ---- packs */

static void packs_that_pile_up_become_one(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	for (unsigned i = 0; i < 60; i++) {
		care_record_code(database, i);
		assert_in_range(care_packs_in(database), 1, 2 * PACK_FILES_MANY);
	}
	assert_int_equal(care_records_in(database), 60);
	uint64_t packs, faults = 0;
	struct error err = { 0 };
	care_compact(database);
	assert_in_range(care_packs_in(database), 1, 2);
	assert_int_equal(care_records_in(database), 60);
	made_must(database_verify_stash(database, NULL, &faults, &packs, &err), &err);
	assert_int_equal(packs, care_packs_in(database));
	/* What others still have and copy in again is merged once more, to the same file. */
	const char *copy = temporary_folder_path(&folder, "copy");
	for (unsigned i = 0; i < 3; i++)
		care_record_code(copy, i);
	care_shell("cp -rn %s/images %s/", copy, database);
	care_compact(database);
	assert_in_range(care_packs_in(database), 1, 2);
	assert_int_equal(care_records_in(database), 60);
}

/* Damaged packs, links and what is not ours lie where they are. */
static void merging_leaves_what_it_does_not_know(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	for (unsigned i = 0; i < 3; i++)
		care_record_code(database, i);
	care_shell("cd %s/images/* && echo x >>$(ls | head -n 1) && echo y >README && "
		   "ln -s /etc/passwd 0000000000000000",
		   database);
	care_compact(database);
	assert_int_equal(care_packs_in(database),
			 3); /* the damaged one, README, and one of the two */
	CLEANUP(profile_freep) struct profile *read = made_read(database, &care_all_aloud);
	assert_int_equal(profile_table(read, PROFILE_STASH)->count, 2);
	care_shell("test -L %s/images/*/0000000000000000", database);
}

/* ---- pruning */

static void old_epochs_go_and_the_last_three_stay(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 8, NULL);
	care_record_hours(database, "b", 0, 2, NULL);
	struct database_retention retention = { .older_than_ns = 4 * CARE_HOUR_NS,
						.grace_ns = DATABASE_PACK_GRACE_NS,
						.dry_run = true,
						.now_ns = MADE_START_NS + 8 * CARE_HOUR_NS };
	struct database_pruned would = care_prune(database, retention);
	assert_int_equal(made_count_files(database, ".prof"), 10);
	retention.dry_run = false;
	struct database_pruned pruned = care_prune(database, retention);
	assert_int_equal(pruned.epochs, 4); /* hours 0 to 3 of a; b has but two */
	assert_int_equal(would.epochs, 4);
	assert_int_equal(would.epoch_bytes, pruned.epoch_bytes);
	assert_int_equal(would.left_bytes, pruned.left_bytes);
	assert_int_equal(pruned.packs, 0);
	const char *const hosts[] = { "a" };
	const struct database_selection a = { .hosts = hosts, .host_count = 1 };
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct error err = { 0 };
	made_must(database_list(database, &a, &list, &err), &err);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.entries[0].epoch, "20260101T040000Z");
	retention.older_than_ns = 1;
	assert_int_equal(care_prune(database, retention).epochs, 1); /* three are left of each */
}

static void the_oldest_epochs_go_until_all_fits(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 12, NULL);
	struct database_retention retention = { .grace_ns = DATABASE_PACK_GRACE_NS };
	uint64_t all = care_prune(database, retention).left_bytes;
	retention.most_bytes = all;
	assert_int_equal(care_prune(database, retention).epochs, 0);
	retention.most_bytes = all - 1;
	struct database_pruned pruned = care_prune(database, retention);
	assert_int_equal(pruned.epochs, 1);
	assert_true(pruned.fits);
	care_shell("test ! -e %s/a/20260101T000000Z.prof", database);
	retention.most_bytes = 1;
	pruned = care_prune(database, retention);
	assert_int_equal(pruned.epochs, 8);
	assert_false(pruned.fits);
}

/* The last three, recorded without code, keep no pack. */
static void code_goes_with_its_last_epoch_after_the_grace(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_code(database, 0);
	for (unsigned i = 1; i < 4; i++) {
		struct epoch *epoch = NULL;
		struct error err = { 0 };
		CLEANUP(profile_freep) struct profile *empty = profile_new();
		const struct profile_source source = { .host = span_of_text("h"),
						       .start_ns =
							       MADE_START_NS + i * CARE_HOUR_NS };
		assert_int_equal(profile_add_source(empty, &source), 0);
		made_must(database_open_epoch(database, "h", MADE_START_NS + i * CARE_HOUR_NS,
					      &epoch, &err),
			  &err);
		made_must(epoch_merge(epoch, empty, &err), &err);
		made_must(epoch_close(epoch, &err), &err);
	}
	struct database_retention retention = { .older_than_ns = 1,
						.grace_ns = DATABASE_PACK_GRACE_NS };
	assert_int_equal(care_prune(database, retention).epochs, 1);
	assert_int_equal(care_packs_in(database), 1);
	retention.now_ns = clock_realtime_ns() + 2 * CARE_DAY_NS;
	{ /* while an epoch is being closed nothing goes, which is said */
		CLEANUP(close_fd)
		int lock = database_lock_images(database, DATABASE_LOCK_SHARED, 0);
		assert_true(lock >= 0);
		care_noted = 0;
		assert_int_equal(care_prune(database, retention).packs, 0);
		assert_int_equal(care_noted, 1);
	}
	retention.dry_run = true;
	assert_int_equal(care_prune(database, retention).packs, 1);
	assert_int_equal(care_packs_in(database), 1);
	retention.dry_run = false;
	assert_int_equal(care_prune(database, retention).packs, 1);
	assert_int_equal(care_packs_in(database), 0);
	care_shell("test -z \"$(ls %s/images)\"", database);
}

/* What is not ours by name stays, and so do links and what they lead to. */
static void strangers_files_and_links_stay(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 6, NULL);
	care_shell("cd %s && mkdir ../kept && cp a/20260101T000000Z.prof ../kept/ && "
		   "mv a/20260101T000000Z.prof a/baseline.prof && "
		   "ln -sf ../../kept/20260101T000000Z.prof a/20260101T000000Z.prof && "
		   "mkdir a/20250101T000000Z.prof && ln -s ../kept c && echo x >a/notes && "
		   "mkdir -p images/0123 images/README && ln -s ../../kept images/4567 && "
		   "echo x >images/0123/ffffffffffffffff.txt && "
		   "echo x >images/README/ffffffffffffffff",
		   database);
	const struct database_retention retention = { .older_than_ns = 1,
						      .now_ns = clock_realtime_ns() + CARE_DAY_NS };
	assert_int_equal(care_prune(database, retention).epochs, 2); /* hours 1 and 2 */
	care_shell("cd %s && test -e a/baseline.prof && test -L a/20260101T000000Z.prof && "
		   "test -e ../kept/20260101T000000Z.prof && test -e a/notes && test -L c && "
		   "test -d a/20250101T000000Z.prof && test -L images/4567 && "
		   "test -e images/0123/ffffffffffffffff.txt && "
		   "test -e images/README/ffffffffffffffff",
		   database);
}

static void open_epochs_stay_while_their_writer_lives(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct error err = { 0 };
	struct epoch *epoch = NULL;
	CLEANUP(profile_freep) struct profile *delta = made_profile("a", 1, MADE_START_NS, NULL);
	care_record_hours(database, "a", 1, 3, NULL);
	made_must(database_open_epoch(database, "a", MADE_START_NS, &epoch, &err), &err);
	made_must(epoch_merge(epoch, delta, &err), &err);
	const struct database_retention retention = { .older_than_ns = 1, .grace_ns = CARE_DAY_NS };
	assert_int_equal(care_prune(database, retention).epochs, 0);
	epoch_abandon(epoch);
	assert_int_equal(care_prune(database, retention).epochs, 1);
	care_shell("test \"$(ls -A %s/a | wc -l)\" = 3", database);
}

/* ---- compacting */

static void what_is_compacted_reads_the_same(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 30, NULL);
	care_record_hours(database, "b", 0, 3, NULL);
	CLEANUP(profile_freep) struct profile *before = made_read(database, NULL);
	struct database_compacted done = care_compact(database);
	assert_int_equal(done.made, 3); /* two days of a, one of b */
	assert_int_equal(done.parts, 33);
	assert_int_equal(made_count_files(database, ".prof"), 3);
	care_noted = 0;
	care_assert_same(database, before);
	done = care_compact(database);
	assert_int_equal(done.made, 0);
	assert_int_equal(care_noted, 0);
	/* Its file is as old as what is in it. */
	const struct database_selection late = { .since_ns = MADE_START_NS + 3 * CARE_DAY_NS };
	struct profile *none = NULL;
	uint64_t cost = made_bytes_read();
	assert_int_equal(database_read(database, &late, &none, NULL), -ENOENT);
	assert_in_range(made_bytes_read() - cost, 0, 200); /* the counter itself */
}

static void labels_boots_and_days_stay_apart(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 2, "before");
	care_record_hours(database, "a", 2, 2, "after");
	care_record_hours(database, "a", 4, 1, NULL);
	care_record_hours(database, "a", 24, 1, NULL);
	const char *const label[] = { "after" };
	const struct database_selection after = { .labels = label, .label_count = 1 };
	CLEANUP(profile_freep) struct profile *before = made_read(database, &after);
	assert_int_equal(care_compact(database).made, 2);
	CLEANUP(profile_freep) struct profile *now = made_read(database, &after);
	assert_true(profiles_are_equal(before, now));
	assert_int_equal(made_count_files(database, ".prof"), 4);
}

static void days_that_are_not_over_for_long_stay(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct database_compaction compaction = { .older_than_ns = CARE_HOUR_NS,
						  .now_ns = MADE_START_NS + 25 * CARE_HOUR_NS - 1 };
	struct database_compacted done;
	struct error err = { 0 };
	care_record_hours(database, "a", 0, 2, NULL);
	made_must(database_compact(database, &compaction, &done, &err), &err);
	assert_int_equal(done.made, 0);
	compaction.now_ns++;
	made_must(database_compact(database, &compaction, &done, &err), &err);
	assert_int_equal(done.made, 1);
}

static void parts_that_come_again_count_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct error err = { 0 };
	care_record_hours(database, "a", 0, 5, NULL);
	CLEANUP(profile_freep) struct profile *before = made_read(database, NULL);
	care_shell("cp -r %s/a %s/kept", database, folder.path);
	care_compact(database);
	care_shell("cp -rn %s/kept/. %s/a/", folder.path, database);
	assert_int_equal(made_count_files(database, ".prof"), 6);
	care_assert_same(database, before);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	made_must(database_list(database, NULL, &list, &err), &err);
	unsigned replaced = 0;
	for (size_t i = 0; i < list.count; i++)
		replaced += list.entries[i].replaced;
	assert_int_equal(replaced, 5);
	/* By its name a part can be read all the same. */
	const char *const name[] = { "20260101T020000Z" };
	const struct database_selection one = { .epochs = name, .epoch_count = 1 };
	CLEANUP(profile_freep) struct profile *part = made_read(database, &one);
	assert_int_equal(profile_table(part, PROFILE_SOURCE)->count, 1);
	/* Without the other they count, as they do when it is damaged. */
	care_shell("cp -r %s %s/copy && truncate -s 3000 %s/copy/a/*+*.prof", database, folder.path,
		   folder.path);
	care_assert_same(temporary_folder_path(&folder, "copy"), before);
	struct database_compacted done = care_compact(database);
	assert_int_equal(done.made, 0);
	assert_int_equal(done.parts, 5);
	care_assert_same(database, before);
	assert_int_equal(made_count_files(database, ".prof"), 1);
}

/* Two machines that had copies of different epochs compacted them, and one gets the other's. */
static void compacted_by_two_counts_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	const char *other = temporary_folder_path(&folder, "other");
	const char *third = temporary_folder_path(&folder, "third");
	care_record_hours(database, "a", 0, 3, NULL);
	care_shell("cp -r %s %s", database, other);
	care_record_hours(database, "a", 3, 2, NULL);
	care_shell("cp -r %s %s && rm %s/a/20260101T000000Z.prof", database, third, third);
	care_record_hours(third, "a", 5, 2, NULL);
	CLEANUP(profile_freep) struct profile *before = made_read(database, NULL);
	care_compact(database);
	care_compact(other);
	care_compact(third);
	care_shell("cp -rn %s/a %s/", other, database);
	assert_int_equal(made_count_files(database, ".prof"), 2);
	care_assert_same(database, before);
	/* Neither has all of the other: the larger one counts, and it is said. */
	CLEANUP(profile_freep) struct profile *larger = made_read(third, NULL);
	care_shell("cp -rn %s/a %s/", database, third);
	care_noted = 0;
	care_assert_same(third, larger);
	assert_true(care_noted > 0);
	assert_non_null(strstr(care_last_note, "they would count twice"));
	/* Compacting them once more would add up what both have: they stay apart. */
	care_noted = 0;
	care_compact(third);
	assert_true(care_noted > 0);
	assert_int_equal(made_count_files(third, ".prof"), 2);
	care_assert_same(third, larger);
}

/* Of epochs with the same sources the first by its name stays, however many there are. */
static void one_of_several_equal_ones_stays(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	care_record_hours(database, "a", 0, 3, NULL);
	care_compact(database);
	CLEANUP(profile_freep) struct profile *before = made_read(database, NULL);
	care_shell("cd %s/a && one=$(ls | grep +) && cp $one "
		   "${one%%%%+*}+0000000000000000.prof && "
		   "cp $one ${one%%%%+*}+ffffffffffffffff.prof",
		   database);
	assert_int_equal(made_count_files(database, ".prof"), 3);
	care_compact(database);
	assert_int_equal(made_count_files(database, ".prof"), 1);
	care_assert_same(database, before);
}

/* ---- copying */

static void copies_of_two_hosts_are_their_union(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *one = temporary_folder_path(&folder, "one");
	const char *other = temporary_folder_path(&folder, "other");
	const char *both = temporary_folder_path(&folder, "both");
	struct database_copied copied;
	struct error err = { 0 };
	struct epoch *open = NULL;
	care_record_hours(one, "a", 0, 3, "x");
	care_record_hours(other, "b", 0, 2, NULL);
	CLEANUP(profile_freep) struct profile *wanted = made_read(one, NULL);
	CLEANUP(profile_freep) struct profile *more = made_read(other, NULL);
	assert_int_equal(profile_merge(wanted, more, NULL), 0);
	CLEANUP(profile_freep) struct profile *delta = made_profile("a", 9, MADE_START_NS, NULL);
	made_must(database_open_epoch(one, "a", MADE_START_NS + CARE_DAY_NS, &open, &err), &err);
	made_must(epoch_merge(open, delta, &err), &err);
	care_noted = 0;
	for (int i = 0; i < 2; i++) {
		made_must(database_copy(one, both, &care_all_aloud, &copied, &err), &err);
		assert_int_equal(copied.open, 1);
		assert_int_equal(i ? copied.there : copied.epochs, 3);
		assert_non_null(strstr(care_last_note, "is being recorded"));
		made_must(database_copy(other, both, &care_all_aloud, &copied, &err), &err);
	}
	assert_int_equal(care_noted, 2);
	epoch_discard(open);
	care_assert_same(both, wanted);
	/* Parts of what was compacted there need not come again. */
	care_compact(both);
	made_must(database_copy(one, both, &care_all_aloud, &copied, &err), &err);
	assert_int_equal(copied.there, 3);
	care_assert_same(both, wanted);
	/* And what was compacted here stands for the parts there. */
	const char *third = temporary_folder_path(&folder, "third");
	made_must(database_copy(one, third, &care_all_aloud, &copied, &err), &err);
	made_must(database_copy(both, third, &care_all_aloud, &copied, &err), &err);
	care_assert_same(third, wanted);
}

static void a_copy_replaces_nothing_but_damage(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *one = temporary_folder_path(&folder, "one");
	const char *other = temporary_folder_path(&folder, "other");
	struct database_copied copied;
	struct error err = { 0 };
	care_record_hours(one, "a", 0, 2, NULL);
	made_epoch(other, "a", 77, MADE_START_NS, "another");
	made_epoch(other, "a", 78, MADE_START_NS + CARE_HOUR_NS, NULL);
	care_shell("truncate -s 2000 %s/a/20260101T010000Z.prof", other);
	care_noted = 0;
	made_must(database_copy(one, other, &care_all_aloud, &copied, &err), &err);
	assert_int_equal(copied.epochs, 1);
	assert_int_equal(copied.left_out, 1);
	assert_int_equal(care_noted, 1);
	assert_non_null(strstr(care_last_note, "is another epoch of the same name, and stays"));
	CLEANUP(profile_freep) struct profile *read = made_read(other, NULL);
	assert_int_equal(profile_table(read, PROFILE_SOURCE)->count, 2);
}

/* ---- claims */

static void one_process_has_a_claim(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct error err = { 0 };
	char said[64];
	int held = database_claim(database, "a", &err);
	assert_true(held >= 0);
	assert_int_equal(database_claim(database, "a", &err), -EBUSY);
	snprintf(said, sizeof(said), "process %d records host 'a'", (int)getpid());
	assert_int_equal(strncmp(err.text, said, strlen(said)), 0);
	int other = database_claim(database, "b", &err);
	assert_true(other >= 0);
	close(held);
	held = database_claim(database, "a", &err);
	assert_true(held >= 0);
	close(held);
	close(other);
	assert_int_equal(database_claim(database, "../a", &err), -EINVAL);
	/* It is no epoch, and is in nobody's way. */
	care_record_hours(database, "a", 0, 1, NULL);
	CLEANUP(profile_freep) struct profile *read = made_read(database, NULL);
	assert_int_equal(profile_table(read, PROFILE_SOURCE)->count, 1);
	care_shell("rm %s/a/.claim && ln -s %s/victim %s/a/.claim", database, folder.path,
		   database);
	assert_true(database_claim(database, "a", &err) < 0);
	care_shell("test ! -e %s/victim", folder.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_that_pile_up_become_one),
		cmocka_unit_test(merging_leaves_what_it_does_not_know),
		cmocka_unit_test(old_epochs_go_and_the_last_three_stay),
		cmocka_unit_test(the_oldest_epochs_go_until_all_fits),
		cmocka_unit_test(code_goes_with_its_last_epoch_after_the_grace),
		cmocka_unit_test(strangers_files_and_links_stay),
		cmocka_unit_test(open_epochs_stay_while_their_writer_lives),
		cmocka_unit_test(what_is_compacted_reads_the_same),
		cmocka_unit_test(labels_boots_and_days_stay_apart),
		cmocka_unit_test(days_that_are_not_over_for_long_stay),
		cmocka_unit_test(parts_that_come_again_count_once),
		cmocka_unit_test(compacted_by_two_counts_once),
		cmocka_unit_test(one_of_several_equal_ones_stays),
		cmocka_unit_test(copies_of_two_hosts_are_their_union),
		cmocka_unit_test(a_copy_replaces_nothing_but_damage),
		cmocka_unit_test(one_process_has_a_claim),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
