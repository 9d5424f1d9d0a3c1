/* Tables that outlast the recorder: found for the very file and program, whole or not at all, in
 * bounded room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/frame_store.h"
#include "support/temporary_folder.h"

static const struct frame_store_key usual = {
	.device = 0x801,
	.inode = 4711,
	.generation = 3,
	.size_bytes = 99000,
	.changed_ns = INT64_C(1500000000000000000),
	.build_id_bytes = 4,
	.build_id = { 1, 2, 3, 4 },
};
static const char words[] = "what a table has";
static const struct span table = { words, sizeof(words) };

/* By another recorder of the same program. */
static bool knows(const char *path, const struct frame_store_key *key)
{
	CLEANUP(frame_store_release) struct frame_store store;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	frame_store_init(&store, path);
	buffer_append(&out, "kept", 4);
	bool found = frame_store_find(&store, key, &out);
	assert_int_equal(out.size, found ? 4 + table.size : 4);
	if (found)
		assert_memory_equal(out.data + 4, table.data, table.size);
	return found;
}

static void put(const char *path, const struct frame_store_key *key)
{
	CLEANUP(frame_store_release) struct frame_store store;
	frame_store_init(&store, path);
	frame_store_put(&store, key, table);
}

static void a_table_is_found_for_the_file_that_it_is_of(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "cache/frames");
	assert_false(knows(path, &usual));
	assert_int_equal(access(path, F_OK), -1); /* looking makes nothing */
	put(path, &usual);
	assert_true(knows(path, &usual));
	struct frame_store_key others[8];
	for (int i = 0; i < 8; i++)
		others[i] = usual;
	others[0].device++;
	others[1].inode++;
	others[2].generation++;
	others[3].size_bytes++;
	others[4].changed_ns++;
	others[5].build_id[3]++;
	others[6].build_id_bytes++;
	others[7].build_id[BUILD_ID_MAX_BYTES - 1]++;
	for (int i = 0; i < 8; i++)
		assert_false(knows(path, &others[i]));
	assert_false(knows(NULL, &usual));
	put(NULL, &usual);
}

static void another_program_makes_its_own(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "frames");
	CLEANUP(frame_store_release) struct frame_store store;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	put(path, &usual);
	frame_store_init(&store, path);
	assert_true(frame_store_find(&store, &usual, &out));
	store.program.low++;
	assert_false(frame_store_find(&store, &usual, &out));
}

static void a_file_that_changed_now_has_none(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "frames");
	struct frame_store_key key = usual;
	key.changed_ns = (int64_t)clock_realtime_ns() - 500000000;
	put(path, &key);
	assert_false(knows(path, &key));
	key.changed_ns -= INT64_C(10000000000);
	put(path, &key);
	assert_true(knows(path, &key));
}

/* The only file of a folder, in `out`. */
static void only_file(const char *path, char *out, size_t size)
{
	DIR *opened = opendir(path);
	int files = 0;
	assert_non_null(opened);
	for (struct dirent *entry; (entry = readdir(opened));)
		if (entry->d_name[0] != '.' && ++files)
			snprintf(out, size, "%s/%s", path, entry->d_name);
	closedir(opened);
	assert_int_equal(files, 1);
}

static void what_is_not_whole_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "frames");
	char file[512], changed;
	put(path, &usual);
	only_file(path, file, sizeof(file));
	struct stat info;
	CLEANUP(close_fd) int fd = open(file, O_RDWR);
	assert_int_equal(fstat(fd, &info), 0);
	for (off_t at = 0; at < info.st_size; at++) {
		assert_int_equal(pread(fd, &changed, 1, at), 1);
		changed ^= 0x10;
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		assert_false(knows(path, &usual));
		changed ^= 0x10;
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
	}
	assert_true(knows(path, &usual));
	for (off_t size = info.st_size - 1; size >= 0; size--) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_false(knows(path, &usual));
	}
	put(path, &usual); /* takes its place */
	assert_true(knows(path, &usual));
	/* Another file's under its name. */
	struct frame_store_key other = usual;
	char moved[512];
	assert_true(rename(file, temporary_folder_path(&folder, "moved")) == 0);
	other.inode++;
	put(path, &other);
	only_file(path, moved, sizeof(moved));
	assert_int_equal(rename(moved, file), 0);
	assert_false(knows(path, &usual));
}

static void what_others_can_write_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "frames");
	put(path, &usual);
	assert_int_equal(chmod(path, 0777), 0);
	assert_false(knows(path, &usual));
	assert_int_equal(chmod(path, 0755), 0);
	assert_true(knows(path, &usual));
}

static void room_is_bounded_and_the_least_used_go(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "frames");
	CLEANUP(frame_store_release) struct frame_store store;
	struct frame_store_key key = usual, first = usual;
	char file[512];
	first.inode = 1;
	put(path, &first);
	only_file(path, file, sizeof(file));
	/* It was used two days ago, and finding it says that it is used. */
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { 0 } };
	struct stat info;
	times[1].tv_sec = (time_t)(clock_realtime_ns() / 1000000000) - 2 * 86400;
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_true(knows(path, &first));
	assert_int_equal(stat(file, &info), 0);
	assert_true(info.st_mtim.tv_sec > times[1].tv_sec + 86400);
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	/* Of as many as there is room for, none has to go. */
	frame_store_init(&store, path);
	store.bytes_most = 16 * 4096;
	for (key.inode = 2; key.inode <= 16; key.inode++)
		frame_store_put(&store, &key, table);
	assert_int_equal(stat(file, &info), 0);
	for (; key.inode < 20; key.inode++)
		frame_store_put(&store, &key, table);
	assert_true(stat(file, &info) != 0);
	assert_false(knows(path, &first));
	key.inode = 19;
	assert_true(knows(path, &key));
	assert_true(store.bytes <= store.bytes_most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_found_for_the_file_that_it_is_of),
		cmocka_unit_test(another_program_makes_its_own),
		cmocka_unit_test(a_file_that_changed_now_has_none),
		cmocka_unit_test(what_is_not_whole_is_not_believed),
		cmocka_unit_test(what_others_can_write_is_not_believed),
		cmocka_unit_test(room_is_bounded_and_the_least_used_go),
	};
	return cmocka_run_group_tests_name("frame store", tests, NULL, NULL);
}
