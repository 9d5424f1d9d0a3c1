#include <errno.h>
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

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "store/database.h"
#include "store/database_stash.h"
#include "store/epoch.h"
#include "store/stash_pack.h"
#include "support/random_profile.h"
#include "support/temporary_folder.h"

#define SECOND_NS UINT64_C(1000000000)
#define START_NS  (UINT64_C(1767225600) * SECOND_NS) /* 2026-01-01 */

static void must(int ret, const struct error *err)
{
	if (ret < 0)
		fail_msg("%d: %s", ret, err->text);
}

/* A profile with a stash whose contents can be decoded. */
static struct profile *sample(uint64_t seed, uint64_t start_ns)
{
	struct profile *profile = random_profile_new(seed, RANDOM_KNOWN);
	struct error err = { 0 };
	table_clear(profile->tables[PROFILE_STASH]);
	table_clear(profile->tables[PROFILE_SOURCE]);
	const struct profile_source source = { .host = span_of_text("h"),
					       .start_ns = start_ns,
					       .duration_ns = SECOND_NS };
	must(profile_add_source(profile, &source), &err);
	for (uint32_t image = 1; image <= 2; image++) {
		CLEANUP(buffer_release) struct buffer content = { 0 };
		const struct function_record function = { .name = span_of_text("f") };
		record_put_function(&content, 16 * (seed % 4), &function);
		const struct record record = { RECORD_FUNCTION,
					       16 * (seed % 4),
					       16 * (seed % 4) + 15,
					       { content.data, content.size } };
		must(stash_add(profile, image, &record, &err), &err);
	}
	return profile;
}

static void record_epoch(const char *database, const char *host, uint64_t seed, uint64_t start_ns)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = sample(seed, start_ns);
	must(database_open_epoch(database, host, start_ns, &epoch, &err), &err);
	must(epoch_merge(epoch, profile, &err), &err);
	must(epoch_close(epoch, &err), &err);
}

static struct profile *read_database(const char *database,
				     const struct database_selection *selection)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	must(database_read(database, selection, &profile, &err), &err);
	return profile;
}

static struct profile *samples_of(const uint64_t *seeds, size_t count)
{
	struct profile *into = profile_new();
	struct error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		CLEANUP(profile_freep)
		struct profile *one = sample(seeds[i], START_NS + seeds[i] * 10 * SECOND_NS);
		must(profile_merge(into, one, &err), &err);
	}
	return into;
}

/* Epochs of seeds 1 to 4, odd ones of host "a", ten seconds apart. */
static const char *filled(struct temporary_folder *folder)
{
	const char *database = temporary_folder_path(folder, "db");
	for (uint64_t seed = 1; seed <= 4; seed++)
		record_epoch(database, seed % 2 ? "a" : "b", seed,
			     START_NS + seed * 10 * SECOND_NS);
	return database;
}

static void any_selection_reads_as_one_profile_with_its_stash(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = filled(&folder);
	assert_true(database_recognise(database));
	assert_false(database_recognise(folder.path));

	CLEANUP(profile_freep) struct profile *all = read_database(database, NULL);
	CLEANUP(profile_freep)
	struct profile *wanted = samples_of((const uint64_t[]){ 1, 2, 3, 4 }, 4);
	assert_true(profiles_are_equal(all, wanted));

	/* Of one epoch alone: what the stash knows of the same images from others comes along. */
	const char *const hosts[] = { "b" };
	const struct database_selection late_b = { .hosts = hosts,
						   .host_count = 1,
						   .since_ns = START_NS + 30 * SECOND_NS };
	CLEANUP(profile_freep) struct profile *one = read_database(database, &late_b);
	CLEANUP(profile_freep) struct profile *four = samples_of((const uint64_t[]){ 4 }, 1);
	CLEANUP(profile_freep) struct profile *bare = read_database(database, &late_b);
	assert_true(profile_table(one, PROFILE_STASH)->count >=
		    profile_table(four, PROFILE_STASH)->count);
	table_clear(bare->tables[PROFILE_STASH]);
	table_clear(four->tables[PROFILE_STASH]);
	assert_true(profiles_are_equal(bare, four));

	const struct database_selection none = { .until_ns = 1 };
	struct profile *nothing = NULL;
	struct error err = { 0 };
	assert_int_equal(database_read(database, &none, &nothing, &err), -ENOENT);
}

static void the_list_is_sorted_and_complete(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = filled(&folder);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct error err = { 0 };
	const struct database_selection whole = { .whole = true };
	must(database_list(database, &whole, &list, &err), &err);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.entries[0].host, "a");
	assert_string_equal(list.entries[0].epoch, "20260101T000010Z");
	assert_string_equal(list.entries[1].epoch, "20260101T000030Z");
	assert_string_equal(list.entries[2].host, "b");
	for (size_t i = 0; i < list.count; i++) {
		assert_true(list.entries[i].readable);
		assert_true(list.entries[i].samples > 0);
		assert_int_equal(list.entries[i].duration_ns, SECOND_NS);
	}
}

/* Bytes that this process has read, of files and pipes. */
static uint64_t bytes_read(void)
{
	char text[512] = "";
	FILE *file = fopen("/proc/self/io", "r");
	assert_non_null(file);
	size_t size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	assert_int_equal(strncmp(text, "rchar: ", 7), 0);
	return size ? strtoull(text + 7, NULL, 10) : 0;
}

/* An epoch whose file is far larger than what says when it was. */
static void record_large(const char *database, uint64_t start_ns)
{
	struct error err = { 0 };
	struct epoch *epoch = NULL;
	struct random_state random = random_seed(start_ns);
	CLEANUP(profile_freep) struct profile *profile = samples_of((const uint64_t[]){ 1 }, 1);
	struct profile_frame frame = { .image = 1 };
	const struct profile_source source = { .start_ns = start_ns, .duration_ns = SECOND_NS };
	for (size_t i = 0; i < 20000; i++) {
		const struct cell cell = { 1, 1 + random_below(&random, 1000), 1 };
		frame.vaddr = random_below(&random, 1u << 30);
		assert_int_equal(profile_add_flat(profile, 1, 0, &frame, &cell), 0);
	}
	table_clear(profile->tables[PROFILE_SOURCE]);
	assert_int_equal(profile_add_source(profile, &source), 0);
	must(database_open_epoch(database, "a", start_ns, &epoch, &err), &err);
	must(epoch_merge(epoch, profile, &err), &err);
	must(epoch_close(epoch, &err), &err);
}

static void what_is_not_selected_is_hardly_read(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	struct error err = { 0 };
	for (uint64_t i = 0; i < 8; i++)
		record_large(database, START_NS + 10 * i * SECOND_NS);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	uint64_t before = bytes_read();
	must(database_list(database, NULL, &list, &err), &err);
	uint64_t listed = bytes_read() - before;
	uint64_t all = 0;
	assert_int_equal(list.count, 8);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_equal(list.entries[i].start_ns, START_NS + 10 * i * SECOND_NS);
		assert_false(list.entries[i].has_samples);
		all += list.entries[i].file_bytes;
	}
	assert_true(all > 8 * 50000);
	assert_in_range(listed, 1, all / 4);

	/* One of them costs itself. */
	const struct database_selection one = { .since_ns = START_NS + 70 * SECOND_NS };
	CLEANUP(profile_freep) struct profile *last = NULL;
	before = bytes_read();
	must(database_read(database, &one, &last, &err), &err);
	assert_in_range(bytes_read() - before, all / 8, all / 8 + all / 4);
	assert_true(profile_table(last, PROFILE_FLAT)->count > 19000);
}

static bool is_readable(const char *database, bool whole)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	const struct database_selection selection = { .whole = whole };
	struct error err = { 0 };
	must(database_list(database, &selection, &list, &err), &err);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.entries[0].has_samples, whole && list.entries[0].readable);
	assert_int_equal(list.entries[0].fault[0] != 0, !list.entries[0].readable);
	return list.entries[0].readable;
}

static void damage_beyond_the_sources_shows_to_who_reads_whole(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	record_large(database, START_NS);
	assert_true(is_readable(database, false));
	assert_true(is_readable(database, true));
	const char *path = temporary_folder_path(&folder, "db/a/20260101T000000Z.prof");
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, 50000, SEEK_SET), 0); /* among its chunks */
	int byte = fgetc(file);
	assert_int_equal(fseek(file, 50000, SEEK_SET), 0);
	fputc(byte ^ 1, file);
	fclose(file);
	assert_true(is_readable(database, false));
	assert_false(is_readable(database, true));
	/* One that was cut off is not taken for whole by anybody. */
	assert_int_equal(truncate(path, 60000), 0);
	assert_false(is_readable(database, false));
	/* Nor is what has only holes behind its header. */
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(truncate(path, 200000), 0);
	assert_false(is_readable(database, false));
}

static void copying_one_database_over_another_is_their_union(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *left = temporary_folder_path(&folder, "left");
	const char *right = temporary_folder_path(&folder, "right");
	record_epoch(left, "a", 1, START_NS + 10 * SECOND_NS);
	record_epoch(right, "b", 2, START_NS + 20 * SECOND_NS);
	record_epoch(right, "b", 1, START_NS + 10 * SECOND_NS); /* the same stash again */
	char command[1024];
	snprintf(command, sizeof(command), "cp -rn '%s'/. '%s'", left, right);
	assert_int_equal(system(command), 0);
	CLEANUP(profile_freep) struct profile *both = read_database(right, NULL);
	CLEANUP(profile_freep)
	struct profile *wanted = samples_of((const uint64_t[]){ 1, 1, 2 }, 3);
	assert_true(profiles_are_equal(both, wanted));
}

static void a_killed_epoch_is_closed_by_the_next(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	pid_t child = fork();
	if (child == 0) {
		struct epoch *epoch = NULL;
		struct error err = { 0 };
		struct profile *profile = sample(1, START_NS);
		must(database_open_epoch(database, "a", START_NS, &epoch, &err), &err);
		must(epoch_merge(epoch, profile, &err), &err);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	struct error err = { 0 };
	{
		CLEANUP(database_list_release) struct database_list list = { 0 };
		must(database_list(database, NULL, &list, &err), &err);
		assert_int_equal(list.count, 1);
		assert_true(list.entries[0].is_open);
		assert_false(list.entries[0].being_written);
	}
	/* The same second: another name. */
	record_epoch(database, "a", 2, START_NS);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	must(database_list(database, NULL, &list, &err), &err);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.entries[0].epoch, "20260101T000000Z");
	assert_string_equal(list.entries[1].epoch, "20260101T000000Z-2");
	assert_false(list.entries[0].is_open);
	struct stat found;
	assert_int_equal(stat(list.entries[0].path, &found), 0);
	assert_int_equal(found.st_mode & 07777, 0640);
	assert_int_equal(stat(database, &found), 0);
	assert_int_equal(found.st_mode & 07777, 0750);
}

static void names_that_would_escape_are_refused(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	static const char *const bad[] = { "", ".", "..", "../x", "a/b", ".hidden", "images" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct epoch *epoch = NULL;
		struct error err = { 0 };
		assert_int_equal(database_open_epoch(temporary_folder_path(&folder, "db"), bad[i],
						     START_NS, &epoch, &err),
				 -EINVAL);
	}
}

static unsigned heard;

static void hear(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
	heard++;
}

static void a_damaged_epoch_is_an_error_or_left_out_aloud(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = filled(&folder);
	char path[1024];
	snprintf(path, sizeof(path), "%s/a/20260101T000010Z.prof", database);
	assert_int_equal(truncate(path, 3000), 0);
	struct profile *profile = NULL;
	struct error err = { 0 };
	assert_int_equal(database_read(database, NULL, &profile, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "20260101T000010Z.prof"));
	heard = 0;
	const struct database_selection others = { .note = hear };
	CLEANUP(profile_freep) struct profile *rest = read_database(database, &others);
	assert_int_equal(heard, 1);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	must(database_list(database, NULL, &list, &err), &err);
	assert_int_equal(list.count, 4);
}

/* ---- packs */

static struct buffer a_pack(void)
{
	CLEANUP(profile_freep) struct profile *profile = sample(3, START_NS);
	struct buffer bytes = { 0 };
	uint32_t row = 0;
	assert_int_equal(stash_pack_encode(profile, 1, &row, 1, &bytes), 0);
	return bytes;
}

static void a_pack_cut_or_flipped_anywhere_is_refused(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = a_pack();
	struct error err = { 0 };
	for (size_t size = 0; size < bytes.size; size++) {
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		assert_int_equal(
			stash_pack_decode(bytes.data, size, "p", NULL, NULL, profile, &err),
			-EBADMSG);
	}
	char name[STASH_PACK_NAME_BYTES], flipped[STASH_PACK_NAME_BYTES];
	stash_pack_name(bytes.data, bytes.size, name);
	for (size_t at = 0; at < bytes.size; at++) {
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		bytes.data[at] ^= 0x10;
		int ret = stash_pack_decode(bytes.data, bytes.size, "p", NULL, NULL, profile, &err);
		stash_pack_name(bytes.data, bytes.size, flipped);
		assert_true(ret == 0 || ret == -EBADMSG);
		assert_string_not_equal(name, flipped); /* what `check` compares */
		bytes.data[at] ^= 0x10;
	}
}

/* One function of an image that claims a build-id. */
static struct profile *claim(const char *hash, uint64_t writer, const char *function,
			     uint64_t start_ns)
{
	struct profile *profile = profile_new();
	struct error err = { 0 };
	uint32_t image, event, context;
	const struct profile_image row = { .kind = IMAGE_FILE,
					   .build_id = span_of_text("id"),
					   .hash = span_of_text(hash),
					   .writer = writer };
	const struct profile_source source = { .host = span_of_text("h"), .start_ns = start_ns };
	const struct profile_event counted = { .name = span_of_text("cycles") };
	const struct profile_frame leaf = { .image = 1, .vaddr = 8 };
	must(profile_add_source(profile, &source), &err);
	must(profile_add_image(profile, &row, &image), &err);
	must(profile_add_event(profile, &counted, &event), &err);
	must(profile_add_context(profile, &(struct profile_context){ 0 }, &context), &err);
	must(profile_add_flat(profile, event, context, &leaf, &(struct cell){ 1, 1, 1 }), &err);
	CLEANUP(buffer_release) struct buffer content = { 0 };
	const struct function_record named = { .name = span_of_text(function) };
	record_put_function(&content, 0, &named);
	const struct record record = { RECORD_FUNCTION, 0, 15, { content.data, content.size } };
	must(stash_add(profile, image, &record, &err), &err);
	return profile;
}

static void add_claim(const char *database, const char *hash, uint64_t writer, const char *function,
		      uint64_t start_ns)
{
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = claim(hash, writer, function, start_ns);
	must(database_open_epoch(database, "h", start_ns, &epoch, &err), &err);
	must(epoch_merge(epoch, profile, &err), &err);
	must(epoch_close(epoch, &err), &err);
}

/* The text of the only record of the stash of the image with that hash. */
static bool is_called(const struct profile *profile, const char *hash, const char *function)
{
	const struct table *stash = profile_table(profile, PROFILE_STASH);
	size_t found = 0, right = 0;
	for (size_t row = 0; row < stash->count; row++) {
		const uint64_t *keys = table_keys(stash, row);
		struct profile_image image = profile_image(profile, keys[STASH_IMAGE]);
		struct span content = profile_bytes(profile, keys[STASH_CONTENT]);
		if (!span_equal(image.hash, span_of_text(hash)))
			continue;
		found++;
		right += memmem(content.data, content.size, function, strlen(function)) != NULL;
	}
	return found == 1 && right == 1;
}

static void who_came_first_names_nothing_but_his_own_file(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	add_claim(database, "stranger", 0x1000003e8, "stolen", START_NS);
	add_claim(database, "system", 0, "work", START_NS + SECOND_NS);
	const struct database_selection second = { .since_ns = START_NS + SECOND_NS };
	CLEANUP(profile_freep) struct profile *one = read_database(database, &second);
	assert_true(is_called(one, "system", "work"));
	assert_int_equal(profile_table(one, PROFILE_STASH)->count, 1);
	CLEANUP(profile_freep) struct profile *all = read_database(database, NULL);
	assert_true(is_called(all, "system", "work"));
	assert_true(is_called(all, "stranger", "stolen"));
}

static void note_fault(void *context, const char *path, const char *sentence)
{
	(void)path;
	*(const char **)context = sentence;
}

static void a_pack_in_anothers_folder_or_under_anothers_name_is_refused(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	char command[2048];
	struct profile *profile = NULL;
	struct error err = { 0 };
	add_claim(database, "stranger", 0x1000003e8, "stolen", START_NS);
	add_claim(database, "system", 0, "work", START_NS + SECOND_NS);
	/* "6964-737472616e676572-1000003e8" and "6964-73797374656d" */
	snprintf(command, sizeof(command), "cp %s/images/6964-7374*/* %s/images/6964-7379*/",
		 database, database);
	assert_int_equal(system(command), 0);
	assert_int_equal(database_read(database, NULL, &profile, &err), -EXDEV);
	assert_non_null(strstr(err.text, "is of another image than the folder that it lies in"));
	const char *fault = NULL;
	uint64_t packs;
	must(database_verify_stash(database, note_fault, &fault, &packs, &err), &err);
	assert_int_equal(packs, 3);
	assert_string_equal(fault, "it is of another image than the folder that it lies in");

	snprintf(command, sizeof(command),
		 "cd %s/images/6964-7379* && rm $(basename ../6964-7374*/*) && "
		 "echo more >>$(ls)",
		 database);
	assert_int_equal(system(command), 0);
	assert_int_equal(database_read(database, NULL, &profile, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "its name is not the hash of its content"));
	/* The next recording of the file mends it. */
	add_claim(database, "system", 0, "work", START_NS + 2 * SECOND_NS);
	CLEANUP(profile_freep) struct profile *all = read_database(database, NULL);
	assert_true(is_called(all, "system", "work"));
}

/* What may be allocated after all of the database was read, and its packs verified. */
static uint64_t allowed_by(const char *database)
{
	const struct database_selection all = { .note = hear };
	const char *fault = NULL;
	struct error err = { 0 };
	uint64_t packs;
	budget_open(&BUDGET_DEFAULTS);
	CLEANUP(profile_freep) struct profile *profile = read_database(database, &all);
	must(database_verify_stash(database, note_fault, &fault, &packs, &err), &err);
	assert_null(budget_refusal());
	uint64_t allowed = budget_memory_limit_bytes();
	budget_close();
	return allowed;
}

static void what_is_no_pack_allows_no_memory(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	char command[2048];
	add_claim(database, "system", 0, "work", START_NS);
	uint64_t before = allowed_by(database);
	assert_true(before > BUDGET_DEFAULTS.memory_bytes);
	/* A hole, and what has content but another name. */
	snprintf(command, sizeof(command),
		 "cd %s/images/* && truncate -s 8M 00000000000000000000000000000001 && "
		 "head -c 1000000 /dev/urandom >00000000000000000000000000000002",
		 database);
	assert_int_equal(system(command), 0);
	assert_int_equal(allowed_by(database), before);
}

/* Images that share a folder, since they differ in their names alone; one has a pack. */
static void a_folder_that_images_share_is_read_once(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	char command[1024];
	struct epoch *epoch = NULL;
	struct error err = { 0 };
	CLEANUP(profile_freep) struct profile *profile = claim("system", 0, "work", START_NS);
	for (char letter = 'a'; letter < 'f'; letter++) {
		uint32_t image;
		const struct profile_image other = { .kind = IMAGE_FILE,
						     .build_id = span_of_text("id"),
						     .hash = span_of_text("system"),
						     .name = { &letter, 1 } };
		must(profile_add_image(profile, &other, &image), &err);
	}
	must(database_open_epoch(database, "h", START_NS, &epoch, &err), &err);
	must(epoch_merge(epoch, profile, &err), &err);
	must(epoch_close(epoch, &err), &err);
	CLEANUP(profile_freep) struct profile *all = read_database(database, NULL);
	assert_true(is_called(all, "system", "work"));
	uint64_t with_pack = allowed_by(database);
	snprintf(command, sizeof(command), "cd %s/images/* && rm $(ls)", database);
	assert_int_equal(system(command), 0);
	/* Once when it was read, once when it was verified; it is of less than 200 bytes. */
	uint64_t pack = (with_pack - allowed_by(database)) /
			(2 * BUDGET_MEMORY_RATIO * BUDGET_PROFILE_RATIO);
	assert_in_range(pack, 20, 199);
	CLEANUP(profile_freep) struct profile *without = read_database(database, NULL);
	assert_int_equal(profile_table(without, PROFILE_STASH)->count, 0);
}

static void links_in_a_database_are_not_followed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove)
	struct temporary_folder folder = temporary_folder_make_in_memory();
	const char *database = temporary_folder_path(&folder, "db");
	const char *link = temporary_folder_path(&folder, "link");
	const struct database_selection all = { .note = hear };
	char command[2048];
	struct error err = { 0 };
	add_claim(database, "system", 0, "work", START_NS);
	assert_int_equal(symlink(database, link), 0);
	heard = 0;
	CLEANUP(profile_freep) struct profile *plain = read_database(link, &all);
	assert_true(is_called(plain, "system", "work"));
	assert_int_equal(heard, 0);
	/* A pack and an epoch that are sound, but elsewhere. */
	snprintf(command, sizeof(command),
		 "cd %s && mv images/*/* .. && ln -s ../../../$(basename ../????????????*) "
		 "images/*/ && "
		 "cp h/*.prof ../kept && ln -s ../../kept h/20260102T000000Z.prof",
		 database);
	assert_int_equal(system(command), 0);
	CLEANUP(profile_freep) struct profile *rest = read_database(database, &all);
	assert_int_equal(profile_table(rest, PROFILE_STASH)->count, 0);
	assert_int_equal(heard, 2);
	CLEANUP(database_list_release) struct database_list list = { 0 };
	must(database_list(database, NULL, &list, &err), &err);
	assert_int_equal(list.count, 2);
	size_t links = 0;
	for (size_t i = 0; i < list.count; i++) {
		links += list.entries[i].is_link;
		assert_true(list.entries[i].is_link == !list.entries[i].readable);
	}
	assert_int_equal(links, 1);
	const char *fault = NULL;
	uint64_t packs;
	snprintf(command, sizeof(command), "cd %s/images && rm -r * && ln -s / y", database);
	assert_int_equal(system(command), 0);
	must(database_verify_stash(database, note_fault, &fault, &packs, &err), &err);
	assert_int_equal(packs, 0);
	snprintf(command, sizeof(command), "cd %s/images && ln -s .. 6964-73797374656d", database);
	assert_int_equal(system(command), 0);
	heard = 0;
	CLEANUP(profile_freep) struct profile *astray = read_database(database, &all);
	assert_int_equal(heard, 2); /* the epoch again, and the folder */
	assert_string_equal(fault, "it is a link or a file in the place of a folder");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_selection_reads_as_one_profile_with_its_stash),
		cmocka_unit_test(the_list_is_sorted_and_complete),
		cmocka_unit_test(what_is_not_selected_is_hardly_read),
		cmocka_unit_test(damage_beyond_the_sources_shows_to_who_reads_whole),
		cmocka_unit_test(copying_one_database_over_another_is_their_union),
		cmocka_unit_test(a_killed_epoch_is_closed_by_the_next),
		cmocka_unit_test(names_that_would_escape_are_refused),
		cmocka_unit_test(a_damaged_epoch_is_an_error_or_left_out_aloud),
		cmocka_unit_test(who_came_first_names_nothing_but_his_own_file),
		cmocka_unit_test(a_pack_in_anothers_folder_or_under_anothers_name_is_refused),
		cmocka_unit_test(what_is_no_pack_allows_no_memory),
		cmocka_unit_test(a_folder_that_images_share_is_read_once),
		cmocka_unit_test(links_in_a_database_are_not_followed),
		cmocka_unit_test(a_pack_cut_or_flipped_anywhere_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
