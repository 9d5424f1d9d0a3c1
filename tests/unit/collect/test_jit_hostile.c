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
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sanitizers.h"
#include "collect/file_table.h"
#include "collect/jit.h"
#include "collect/shares.h"
#include "image/process_table.h"
#include "profile/profile.h"
#include "symbol/reader.h"
#include "symbol/record.h"
#include "support/skip.h"

#define IMAGE	     7u
#define STRANGER     4242u
#define PIECE_BYTES  (250u << 10) /* read at once */
#define FILLERS	     4000u	  /* functions of one page */
#define LOOKUPS	     200000u	  /* among them, half of which there is time for at once */
#define WORK_AT_ONCE (UINT64_C(1) << 22)
#define WORK_OF_ONE  (UINT64_C(1) << 21) /* function, at most */
#define CODE_BYTES   200000u
#define LARGE_BYTES  (2u << 20)
#define PLENTY_NS    UINT64_C(60000000000) /* other programs may keep us from the CPU */
#define MOVES	     300u

/* Our own process as a stranger's, which writes what takes long to read. */
struct watched {
	char map[64], dump[64];
	struct shares shares;
	struct share *share;
	struct reader *reader;
	struct profile *profile;
	struct file_table files;
	struct jit_table jits;
	struct process process;
	struct buffer text; /* of the file */
};

static void watch(struct watched *watched)
{
	*watched = (struct watched){ .profile = profile_new(),
				     .process = { .pid = (uint32_t)getpid(), .start_ns = 1 } };
	snprintf(watched->map, sizeof(watched->map), "/tmp/perf-%d.map", getpid());
	snprintf(watched->dump, sizeof(watched->dump), "/tmp/jit-%d.dump", getpid());
	unlink(watched->map);
	unlink(watched->dump);
	assert_non_null(watched->profile);
	shares_init(&watched->shares, &(struct share_limits){ 0 });
	watched->share = shares_of_user(&watched->shares, STRANGER);
	assert_int_equal(reader_new(NULL, &watched->reader, NULL), 0);
	assert_int_equal(file_table_init(&watched->files, watched->profile, watched->reader,
					 &watched->shares),
			 0);
	jit_table_init(&watched->jits, watched->reader, &watched->files, &watched->shares);
}

static void release(struct watched *watched)
{
	jit_table_release(&watched->jits);
	file_table_release(&watched->files);
	shares_release(&watched->shares);
	profile_free(watched->profile);
	reader_free(watched->reader);
	buffer_release(&watched->text);
	unlink(watched->map);
	unlink(watched->dump);
}

static void write_file(const struct watched *watched, const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, watched->text.data, watched->text.size),
			 (ssize_t)watched->text.size);
}

/* As if it had not cost any time yet. */
static void refill(struct watched *watched)
{
	for (int i = 0; i < SHARE_PURPOSES; i++)
		watched->share->left_ns[i] = watched->shares.together.left_ns[i] = PLENTY_NS;
	watched->share->debt_ns = watched->shares.together.debt_ns = 0;
}

/* Reads the next part of the file. */
static struct jit *locate(struct watched *watched)
{
	uint64_t vaddr;
	struct jit *jit = number_map_find(&watched->jits.by_image, IMAGE);
	if (jit)
		jit->pause_ns = jit->retry_ns = 0; /* files are looked at again at once */
	refill(watched);
	assert_int_equal(jit_table_locate(&watched->jits, &watched->process, watched->share, IMAGE,
					  0x1000, UINT64_MAX, &vaddr),
			 0);
	jit = number_map_find(&watched->jits.by_image, IMAGE);
	assert_non_null(jit);
	return jit;
}

static void gather(struct watched *watched, const uint64_t *vaddrs, size_t count,
		   struct record_set *records)
{
	struct jit *jit = number_map_find(&watched->jits.by_image, IMAGE);
	refill(watched);
	shares_charge(&watched->shares, watched->share, SHARE_GATHERING, 0, watched->reader);
	assert_int_equal(jit_gather(&watched->jits, jit, vaddrs, count, records), 0);
	shares_settle(&watched->shares, watched->reader);
}

static void put_map(struct watched *watched, uint64_t address, uint64_t size, const char *name)
{
	buffer_printf(&watched->text, "%lx %lx %s\n", (unsigned long)address, (unsigned long)size,
		      name);
}

static void put(struct watched *watched, uint64_t value, size_t size)
{
	buffer_append(&watched->text, &value, size);
}

static void put_header(struct watched *watched)
{
	put(watched, 0x4a695444, 4);
	put(watched, 1, 4);
	put(watched, 40, 4);
	put(watched, 62, 4);
	put(watched, 0, 4);
	put(watched, (uint64_t)getpid(), 4);
	put(watched, 0, 8);
	put(watched, 0, 8);
}

/* With `code_bytes` of code, or none and then of any size. */
static void put_load(struct watched *watched, uint64_t address, uint64_t size, uint64_t index,
		     const char *name, uint32_t code_bytes)
{
	put(watched, 0, 4);
	put(watched, 16 + 40 + strlen(name) + 1 + code_bytes, 4);
	put(watched, 1, 8);
	put(watched, 0, 8);
	put(watched, address, 8);
	put(watched, address, 8);
	put(watched, size, 8);
	put(watched, index, 8);
	buffer_append(&watched->text, name, strlen(name) + 1);
	for (uint32_t i = 0; i < code_bytes; i++)
		buffer_append_u8(&watched->text, 0x90);
}

static void put_move(struct watched *watched, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	put(watched, 1, 4);
	put(watched, 16 + 48, 4);
	put(watched, 1, 8);
	put(watched, 0, 8);
	put(watched, to, 8);
	put(watched, from, 8);
	put(watched, to, 8);
	put(watched, size, 8);
	put(watched, index, 8);
}

/* The process maps its dump. */
static void map_dump(struct watched *watched)
{
	struct stat info;
	uint32_t number;
	write_file(watched, watched->dump);
	assert_int_equal(stat(watched->dump, &info), 0);
	const struct file_hint hint = { .pid = (uint32_t)getpid(),
					.major = major(info.st_dev),
					.minor = minor(info.st_dev),
					.inode = info.st_ino,
					.path = span_of_text(watched->dump) };
	assert_int_equal(file_table_find(&watched->files, &hint, &number), 0);
	assert_true(file_may_be_jitdump(file_table_get(&watched->files, number)));
}

/* Everything over everything on four pages. */
static void put_narrow(struct watched *watched, unsigned i)
{
	char name[16];
	snprintf(name, sizeof(name), "n%u", i % FILLERS);
	put_map(watched, 0xfff, 0x3001, name);
}

/* New pages in every line. */
static void put_wide(struct watched *watched, unsigned i)
{
	put_map(watched, (uint64_t)i << 20, 0x100000, "w");
}

/* Names that differ in their last bytes alone. */
static void put_named(struct watched *watched, unsigned i)
{
	char name[2049];
	memset(name, 'l', 2040);
	snprintf(name + 2040, 9, "%u", 10000000 + i);
	put_map(watched, 0x1000, 0x10, name);
}

static void a_piece_of_a_map_is_no_more_work_than_may_be_at_once(void **state)
{
	(void)state;
	if (THREAD_SANITIZER)
		SKIP("it takes the longest, and starts no thread");
	void (*const kinds[])(struct watched *, unsigned) = { put_narrow, put_wide, put_named };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct watched watched;
		watch(&watched);
		for (unsigned j = 0; watched.text.size < PIECE_BYTES; j++)
			kinds[i](&watched, j);
		write_file(&watched, watched.map);
		uint64_t before = 0, read_bytes = 0;
		for (int step = 0; step < 20 && read_bytes < watched.text.size; step++) {
			const struct jit *jit = locate(&watched);
			assert_in_range(jit->timeline.work - before, 0, WORK_AT_ONCE + WORK_OF_ONE);
			before = jit->timeline.work;
			read_bytes = jit->map.read_bytes;
		}
		assert_true(read_bytes > 0);
		release(&watched);
	}
}

/* What is left for the next look is not lost, nor taken twice. */
static void all_parts_of_a_piece_are_read(void **state)
{
	(void)state;
	struct watched watched;
	const struct jit *jit;
	watch(&watched);
	for (unsigned i = 0; i < FILLERS; i++)
		put_narrow(&watched, i);
	put_map(&watched, 0x7000, 0x10, "last");
	write_file(&watched, watched.map);
	int steps = 0;
	do
		jit = locate(&watched);
	while (jit->map.read_bytes < watched.text.size && steps++ < 1000);
	assert_true(steps > 1);
	assert_int_equal(jit->timeline.count, FILLERS + 1);
	release(&watched);
}

static void a_piece_of_a_dump_is_no_more_work_than_may_be_at_once(void **state)
{
	(void)state;
	struct watched watched;
	const struct jit *jit;
	char name[16];
	watch(&watched);
	put_header(&watched);
	for (unsigned i = 0; i < 3500; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put_load(&watched, 0xfff, 0x3001, i, name, 0);
	}
	assert_true(watched.text.size < 256u << 10);
	map_dump(&watched);
	uint64_t before = 0;
	int steps = 0;
	do {
		jit = locate(&watched);
		assert_in_range(jit->timeline.work - before, 0, WORK_AT_ONCE + WORK_OF_ONE);
		before = jit->timeline.work;
	} while (jit->timeline.count < 3500 && steps++ < 1000);
	assert_true(steps > 1);
	assert_int_equal(jit->timeline.count, 3500);
	release(&watched);
}

/* Thousands of functions on a page, each over another: so many looks for each frame of a stack. */
static void who_makes_addresses_slow_to_find_pays_for_it(void **state)
{
	(void)state;
	struct watched watched;
	struct jit *jit;
	char name[16];
	uint64_t vaddr = 0;
	watch(&watched);
	for (unsigned i = 0; i < FILLERS; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		put_map(&watched, 0x1000 + i % 1024, 1, name);
	}
	write_file(&watched, watched.map);
	do
		jit = locate(&watched);
	while (jit->map.read_bytes < watched.text.size);
	refill(&watched);
	watched.share->left_ns[SHARE_READING] = SHARE_READ_NS;
	uint64_t before = jit->timeline.work, begin_ns = clock_monotonic_ns();
	unsigned found = 0;
	for (unsigned i = 0; i < LOOKUPS; i++) {
		uint64_t dropped = jit->dropped;
		jit->read_ns = UINT64_MAX; /* its file is not looked at */
		assert_int_equal(jit_table_locate(&watched.jits, &watched.process, watched.share,
						  IMAGE, 0x1fff, 1000, &vaddr),
				 0);
		assert_int_equal(vaddr, 0x1fff);
		found += jit->dropped == dropped;
	}
	uint64_t left_ns = share_reading_left_ns(&watched.shares, watched.share);
	/* What came back meanwhile: a slow machine has more of it, and may have enough for all. */
	uint64_t back_ns = (clock_monotonic_ns() - begin_ns) / SHARE_READ_PART;
	bool enough = (uint64_t)LOOKUPS * FILLERS <= SHARE_READ_NS + back_ns;
	assert_in_range(found, 1000, enough ? LOOKUPS : LOOKUPS - 1);
	assert_true(jit->timeline.work - before < SHARE_READ_NS + back_ns);
	assert_in_range(left_ns, 0, SHARE_READ_NS / 4 + back_ns);
	release(&watched);
}

static int end_soon(void *context)
{
	unsigned *looks = context;
	return ++*looks > 10 ? -ECANCELED : 0;
}

static void who_is_to_end_is_not_held_up(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	unsigned looks = 0;
	const struct helper_watch ends = { .wake_fd = -1, .look = end_soon, .context = &looks };
	const uint64_t vaddr = 0x1000;
	watch(&watched);
	for (unsigned i = 0; watched.text.size < 2 * PIECE_BYTES; i++)
		put_narrow(&watched, i);
	write_file(&watched, watched.map);
	const struct jit *jit = locate(&watched);
	uint64_t before = jit->timeline.work;
	watched.jits.watch = &ends;
	gather(&watched, &vaddr, 1, &records);
	assert_in_range(looks, 11, 20);
	assert_true(jit->cut);
	assert_true(jit->timeline.work - before < 11 * (WORK_AT_ONCE + WORK_OF_ONE));
	release(&watched);
}

static size_t count_kind(const struct record_set *records, enum record_kind kind, uint64_t *bytes)
{
	size_t count = 0;
	for (size_t i = 0; i < records->count; i++) {
		count += records->list[i].kind == kind;
		*bytes += records->list[i].content.size;
	}
	return count;
}

/* A move of 64 bytes brings all code of what is moved. */
static void moves_bring_no_more_code_than_there_is_room_for(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	uint64_t vaddrs[MOVES + 1] = { 0x1000000 };
	watch(&watched);
	put_header(&watched);
	put_load(&watched, vaddrs[0], CODE_BYTES, 1, "moves", CODE_BYTES);
	for (unsigned i = 1; i <= MOVES; i++) {
		vaddrs[i] = vaddrs[i - 1] + 0x100000;
		put_move(&watched, vaddrs[i - 1], vaddrs[i], CODE_BYTES, 1);
	}
	map_dump(&watched);
	locate(&watched);
	gather(&watched, vaddrs, MOVES + 1, &records);
	uint64_t bytes = 0;
	const struct jit *jit = number_map_find(&watched.jits.by_image, IMAGE);
	assert_true(jit->full);
	assert_int_equal(count_kind(&records, RECORD_FUNCTION, &bytes), MOVES + 1);
	bytes = 0;
	assert_in_range(count_kind(&records, RECORD_CODE, &bytes), 10, MOVES / 2);
	assert_in_range(bytes, SHARE_STASH_BYTES / 2, SHARE_STASH_BYTES);
	assert_true(watched.share->stash_bytes < SHARE_STASH_BYTES / 4);
	release(&watched);
}

/* Or what is behind it would be taken for something else. */
static void a_record_that_is_too_long_is_so_each_time_that_it_is_read(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	const uint64_t vaddr = 0x1000;
	uint64_t bytes = 0;
	watch(&watched);
	put_header(&watched);
	put_load(&watched, 0x1000000, LARGE_BYTES, 1, "large", LARGE_BYTES);
	put_load(&watched, vaddr, 16, 2, "behind", 16);
	map_dump(&watched);
	locate(&watched);
	gather(&watched, &vaddr, 1, &records);
	assert_int_equal(count_kind(&records, RECORD_FUNCTION, &bytes), 1);
	assert_int_equal(count_kind(&records, RECORD_CODE, &bytes), 1);
	release(&watched);
}

static uint32_t pid_of_one_that_has_ended(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return (uint32_t)child;
}

/* There was no time for its names when the epoch ended: the next one reads its jitdump again. */
static void names_that_are_owed_by_who_has_ended_are_still_in_its_jitdump(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	bool images[IMAGE + 1] = { false };
	const uint64_t vaddr = 0x1000;
	uint64_t bytes = 0;
	watch(&watched);
	put_header(&watched);
	put_load(&watched, vaddr, 16, 1, "owed", 16);
	map_dump(&watched);
	struct jit *jit = locate(&watched);
	assert_int_equal(jit->dump_count, 1);
	uint32_t number = watched.files.jitdumps[0].number;
	struct file *file = file_table_get(&watched.files, number);
	jit->pid = file->pid = pid_of_one_that_has_ended();
	file_table_names_read(&watched.files);
	jit_table_names_read(&watched.jits);
	assert_int_equal(jit->dump_count, 0);

	CLEANUP(free_pointer) bool *used = calloc(watched.files.count + 1, sizeof(*used));
	assert_non_null(used);
	assert_int_equal(jit_table_mark_jitdumps(&watched.jits, images, used), 0);
	assert_false(used[number]);
	images[IMAGE] = true;
	assert_int_equal(jit_table_mark_jitdumps(&watched.jits, images, used), 0);
	assert_true(used[number]);
	for (uint32_t built_in = 1; built_in <= watched.files.beyond; built_in++)
		used[built_in] = true;
	file_table_forget(&watched.files, used);
	gather(&watched, &vaddr, 1, &records);
	assert_int_equal(count_kind(&records, RECORD_FUNCTION, &bytes), 1);
	assert_int_equal(count_kind(&records, RECORD_CODE, &bytes), 1);
	release(&watched);
}

static void a_map_of_who_has_ended_is_read_again(void **state)
{
	(void)state;
	struct watched watched;
	CLEANUP(record_set_release) struct record_set records = { 0 };
	const uint64_t vaddr = 0x1000;
	uint64_t bytes = 0;
	watch(&watched);
	unlink(watched.map);
	watched.process.pid = pid_of_one_that_has_ended();
	snprintf(watched.map, sizeof(watched.map), "/tmp/perf-%u.map",
		 (unsigned)watched.process.pid);
	buffer_printf(&watched.text, "1000 10 owed\n");
	write_file(&watched, watched.map);
	struct jit *jit = locate(&watched);
	assert_true(jit->map.found);
	assert_int_equal(jit->timeline.count, 1);
	jit_table_names_read(&watched.jits);
	assert_int_equal(jit->timeline.count, 0);
	gather(&watched, &vaddr, 1, &records);
	assert_int_equal(count_kind(&records, RECORD_FUNCTION, &bytes), 1);
	release(&watched);
}

/* Samples of its last moments come in the next epoch. */
static void dumps_of_who_has_ended_are_found_again(void **state)
{
	(void)state;
	struct watched watched;
	watch(&watched);
	put_header(&watched);
	put_load(&watched, 0x1000, 16, 1, "late", 16);
	map_dump(&watched);
	struct jit *jit = locate(&watched);
	jit->pid = pid_of_one_that_has_ended();
	file_table_get(&watched.files, watched.files.jitdumps[0].number)->pid = jit->pid;
	jit_table_names_read(&watched.jits);
	assert_int_equal(jit->dump_count, 0);
	locate(&watched);
	assert_int_equal(jit->dump_count, 1);
	release(&watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_piece_of_a_map_is_no_more_work_than_may_be_at_once),
		cmocka_unit_test(all_parts_of_a_piece_are_read),
		cmocka_unit_test(a_piece_of_a_dump_is_no_more_work_than_may_be_at_once),
		cmocka_unit_test(who_makes_addresses_slow_to_find_pays_for_it),
		cmocka_unit_test(who_is_to_end_is_not_held_up),
		cmocka_unit_test(moves_bring_no_more_code_than_there_is_room_for),
		cmocka_unit_test(a_record_that_is_too_long_is_so_each_time_that_it_is_read),
		cmocka_unit_test(names_that_are_owed_by_who_has_ended_are_still_in_its_jitdump),
		cmocka_unit_test(a_map_of_who_has_ended_is_read_again),
		cmocka_unit_test(dumps_of_who_has_ended_are_found_again),
	};
	return cmocka_run_group_tests_name("collect jit hostile", tests, NULL, NULL);
}
