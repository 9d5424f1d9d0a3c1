/* Which epochs of a database are chosen, and what choosing costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/source_labels.h"
#include "store/database.h"
#include "store/database_epochs.h"
#include "store/epoch.h"
#include "store/profile_file.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"
#include "unit/store/made_database.h"

/* ---- labels */

static void joined(const char *one, const char *other, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	source_labels_join(span_of_text(one), span_of_text(other), &out);
	assert_string_equal(buffer_text(&out), wanted);
}

static void labels_are_a_sorted_set_of_lines(void **state)
{
	(void)state;
	joined("", "", "");
	joined("b", "a", "a\nb");
	joined("a\nb", "b\nab", "a\nab\nb");
	joined("b\na\n\nb", NULL, "a\nb");
	assert_true(source_labels_have(span_of_text("a\nbc"), span_of_text("bc")));
	assert_false(source_labels_have(span_of_text("a\nbc"), span_of_text("b")));
	assert_true(source_label_is_usable("build=7 über"));
	assert_false(source_label_is_usable(""));
	assert_false(source_label_is_usable("a\nb"));
	assert_false(source_label_is_usable("\033[2J"));
}

static struct profile *sources_of(const char *path)
{
	struct profile *sources = NULL;
	struct profile_file_info info;
	struct error err = { 0 };
	made_must(profile_file_read_sources(path, &sources, &info, &err), &err);
	return sources;
}

/* Before and after merges, with what an earlier run left, and in the file of a killed one. */
static void an_open_epoch_takes_a_label_at_any_time(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *delta = made_profile("h", 1, MADE_START_NS, NULL);
	made_must(database_open_epoch(database, "h", MADE_START_NS, &epoch, &err), &err);
	made_must(epoch_label(epoch, span_of_text("early"), &err), &err);
	made_must(epoch_merge(epoch, delta, &err), &err);
	made_must(epoch_label(epoch, span_of_text("late"), &err), &err);
	made_must(epoch_merge(epoch, delta, &err), &err);
	assert_null(profile_fault(epoch_profile(epoch)));
	epoch_abandon(epoch);
	char path[512];
	snprintf(path, sizeof(path), "%s/h/20260101T000000Z.open", database);
	CLEANUP(profile_freep) struct profile *left = sources_of(path);
	assert_int_equal(profile_table(left, PROFILE_SOURCE)->count, 1);
	assert_true(span_equal(profile_source(left, 0).labels, span_of_text("early\nlate")));

	made_epoch(database, "h", 2, MADE_START_NS + 10 * MADE_SECOND_NS, NULL); /* closes it */
	const char *wanted[] = { "late" };
	const struct database_selection late = { .labels = wanted, .label_count = 1 };
	CLEANUP(database_list_release) struct database_list list = { 0 };
	made_must(database_list(database, &late, &list, &err), &err);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.entries[0].epoch, "20260101T000000Z");
	assert_string_equal(list.entries[0].labels, "early\nlate");
	CLEANUP(profile_freep) struct profile *read = made_read(database, &late);
	assert_int_equal(profile_source(read, 0).start_ns, MADE_START_NS);
	assert_int_equal(profile_table(read, PROFILE_SOURCE)->count, 1);
}

/* ---- names */

static void names_say_when_an_epoch_began(void **state)
{
	(void)state;
	uint64_t start_ns;
	assert_int_equal(epoch_name_parse("20260101T000000Z", &start_ns), EPOCH_NAME_RECORDED);
	assert_int_equal(start_ns, MADE_START_NS);
	assert_int_equal(epoch_name_parse("20260101T000001Z-12", &start_ns), EPOCH_NAME_RECORDED);
	assert_int_equal(start_ns, MADE_START_NS + MADE_SECOND_NS);
	assert_int_equal(epoch_name_parse("20260101T000000Z+0123456789abcdef", NULL),
			 EPOCH_NAME_COMPACTED);
	/* What is written is read, through leap years and centuries. */
	for (uint64_t day = 0; day < 170000; day += 13) {
		uint64_t wanted = (day * 86400 + day % 86400) * MADE_SECOND_NS;
		char stem[EPOCH_STEM_BYTES];
		epoch_name_stem(wanted, stem);
		assert_int_equal(epoch_name_parse(stem, &start_ns), EPOCH_NAME_RECORDED);
		assert_true(start_ns == wanted);
	}
	static const char *const others[] = { "",
					      "baseline",
					      "20260101T000000",
					      "20260101T000000Zx",
					      "20260101T000000Z-",
					      "20260101T000000Z-x",
					      "20260101T000000Z+0123456789abcdeF",
					      "20260101T000000Z+0123456789abcde",
					      "20261301T000000Z",
					      "20260230T000000Z",
					      "2026 101T000000Z" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(epoch_name_parse(others[i], &start_ns), EPOCH_NAME_OTHER);
		assert_int_equal(start_ns, 0);
	}
}

/* ---- cost */

#define MANY 60

/* Epochs of an hour each, whose files are as old as what is in them. */
static const char *hourly(struct temporary_folder *folder, const char *name, unsigned count)
{
	const char *database = temporary_folder_path(folder, name);
	for (unsigned i = 0; i < count; i++) {
		uint64_t start_ns = MADE_START_NS + i * 3600 * MADE_SECOND_NS;
		char path[512], stem[EPOCH_STEM_BYTES];
		made_epoch(database, "h", 1 + i % 3, start_ns, NULL);
		epoch_name_stem(start_ns, stem);
		snprintf(path, sizeof(path), "%s/h/%s.prof", database, stem);
		const struct timespec then = { .tv_sec = (time_t)(start_ns / MADE_SECOND_NS) + 2 };
		assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ then, then }, 0),
				 0);
	}
	return database;
}

static uint64_t cost_of(const char *database, const struct database_selection *selection,
			size_t wanted)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	uint64_t before = made_bytes_read();
	made_must(database_read(database, selection, &profile, &err), &err);
	assert_int_equal(profile_table(profile, PROFILE_SOURCE)->count, wanted);
	return made_bytes_read() - before;
}

static void what_cannot_be_of_the_times_is_not_opened(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *many = hourly(&folder, "many", MANY);
	const char *few = hourly(&folder, "few", 3);
	/* The first two, and the last two: of one database they are the same as of the other. */
	const struct database_selection first = { .until_ns =
							  MADE_START_NS + 7000 * MADE_SECOND_NS };
	assert_int_equal(cost_of(many, &first, 2), cost_of(few, &first, 2));
	const struct database_selection last = { .since_ns = MADE_START_NS +
							     (MANY - 2) * 3600 * MADE_SECOND_NS };
	uint64_t all = cost_of(many, NULL, MANY);
	assert_in_range(cost_of(many, &last, 2), 1, all / 10);
}

/* A name is believed but for ten minutes, and a file's time if it is not before the name's. */
static void wrong_names_and_times_hide_nothing(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	char from[512], to[512];
	made_epoch(database, "h", 1, MADE_START_NS, NULL);
	snprintf(from, sizeof(from), "%s/h/20260101T000000Z.prof", database);
	snprintf(to, sizeof(to), "%s/h/20260101T000900Z.prof", database);
	assert_int_equal(rename(from, to), 0);
	const struct database_selection before = { .until_ns = MADE_START_NS + MADE_SECOND_NS };
	cost_of(database, &before, 1);
	const struct timespec then = { .tv_sec = 1000000000 };
	assert_int_equal(utimensat(AT_FDCWD, to, (struct timespec[]){ then, then }, 0), 0);
	const struct database_selection after = { .since_ns = MADE_START_NS };
	cost_of(database, &after, 1);
	snprintf(from, sizeof(from), "%s/h/baseline.prof", database);
	assert_int_equal(rename(to, from), 0);
	cost_of(database, &before, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_a_sorted_set_of_lines),
		cmocka_unit_test(an_open_epoch_takes_a_label_at_any_time),
		cmocka_unit_test(names_say_when_an_epoch_began),
		cmocka_unit_test(what_cannot_be_of_the_times_is_not_opened),
		cmocka_unit_test(wrong_names_and_times_hide_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
