#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/writer.h"
#include "profile/profile.h"
#include "support/skip.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"

struct subject {
	struct temporary_folder folder;
	struct reader *reader;
	struct profile *session;
	struct shares shares;
	struct file_table files;
};

static void make(struct subject *subject)
{
	*subject = (struct subject){ .folder = temporary_folder_make() };
	toolchain_write(subject->folder.path, "p.c", "int main(void) { return 0; }\n");
	toolchain_run(subject->folder.path, "cc -Wl,--build-id=0x12345678 p.c -o p; "
					    "cc -DOTHER -g -Wl,--build-id=0x12345678 p.c -o q; "
					    "chmod 0777 q");
	assert_int_equal(reader_new(NULL, &subject->reader, NULL), 0);
	subject->session = profile_new();
	assert_non_null(subject->session);
	shares_init(&subject->shares, &(struct share_limits){ 0 });
	assert_int_equal(file_table_init(&subject->files, subject->session, subject->reader,
					 &subject->shares),
			 0);
}

static void release(struct subject *subject)
{
	file_table_release(&subject->files);
	shares_release(&subject->shares);
	profile_free(subject->session);
	reader_free(subject->reader);
	temporary_folder_remove(&subject->folder);
}

/* As a record of a mapping would tell it; where the file system does not tell us it is made up. */
static uint32_t generation_of(const char *path)
{
	int generation = 0;
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 ? (uint32_t)generation : 7;
}

/* As a record of a mapping would name it, which lies `devices` further on. */
static struct file_hint hint_of(const char *path, unsigned devices, struct share *share)
{
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	return (struct file_hint){ .pid = (uint32_t)getpid(),
				   .major = major(info.st_dev),
				   .minor = minor(info.st_dev) + devices,
				   .inode = info.st_ino,
				   .generation = generation_of(path),
				   .generation_known = true,
				   .share = share,
				   .payer = share,
				   .path = span_of_text(path) };
}

static uint32_t find_by(struct subject *subject, const struct file_hint *hint)
{
	uint32_t number;
	assert_int_equal(file_table_find(&subject->files, hint, &number), 0);
	return number;
}

static uint32_t find(struct subject *subject, const char *name, unsigned devices)
{
	const char *path = temporary_folder_path(&subject->folder, name);
	const struct file_hint hint = hint_of(path, devices, NULL);
	return find_by(subject, &hint);
}

/* A file, and the mapping that it was found by. */
struct mapped {
	struct file_hint hint;
	uint32_t number;
	struct file *file;
};

static struct mapped map_by(struct subject *subject, const char *name, struct share *share)
{
	const char *path = temporary_folder_path(&subject->folder, name);
	struct mapped mapped = { .hint = hint_of(path, 0, share) };
	mapped.number = find_by(subject, &mapped.hint);
	mapped.file = file_table_get(&subject->files, mapped.number);
	return mapped;
}

/* It is one file, whoever maps it then. */
static void map_again_by(struct subject *subject, struct mapped *mapped, struct share *share)
{
	mapped->hint.share = mapped->hint.payer = share;
	assert_int_equal(find_by(subject, &mapped->hint), mapped->number);
}

/* A stranger, who has no time left. */
static struct share *stranger(struct subject *subject)
{
	struct share *share = shares_of_user(&subject->shares, 65534);
	assert_true(share->strange);
	share->left_ns[SHARE_READING] = 0;
	share->debt_ns = SHARE_READ_NS;
	return share;
}

static void give_time(struct share *share)
{
	share->left_ns[SHARE_READING] = SHARE_READ_NS;
	share->debt_ns = 0;
}

/* It is not held, as of many files some are not. */
static void let_go(struct file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

static void files_of_one_build_id_are_images_of_their_own(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t first, second;
	make(&subject);
	assert_int_equal(file_table_image(&subject.files, find(&subject, "p", 0), &first), 0);
	assert_int_equal(file_table_image(&subject.files, find(&subject, "q", 0), &second), 0);
	assert_int_not_equal(first, second);
	struct profile_image own = profile_image(subject.session, first);
	struct profile_image other = profile_image(subject.session, second);
	assert_true(span_equal(own.build_id, other.build_id));
	assert_int_equal(own.hash.size, sizeof(struct hash128));
	assert_int_equal(other.hash.size, sizeof(struct hash128));
	assert_int_equal(own.writer, 0);
	assert_int_equal(other.writer, writer_of(WRITER_ANYBODY, geteuid()));
	assert_false(profile_image_same_build(&own, &other));
	assert_true(profile_image_same_build(&own, &own));
}

static void what_is_mapped_and_never_sampled_is_not_hashed(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	const struct file *file = file_table_get(&subject.files, find(&subject, "p", 0));
	assert_int_equal(file->state, FILE_IDENTIFIED);
	assert_int_equal(file->identity->content, CONTENT_NONE);
}

static void an_inode_of_another_device_is_another_file(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	/* What a process shows under that path has the number that the record names. */
	assert_int_equal(file_table_get(&subject.files, find(&subject, "q", 9))->state, FILE_GONE);
	assert_int_equal(file_table_get(&subject.files, find(&subject, "q", 0))->state,
			 FILE_IDENTIFIED);
}

static void what_cannot_be_looked_into_is_nobody_elses(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t number, image;
	make(&subject);
	number = find(&subject, "p", 0);
	struct file *file = file_table_get(&subject.files, number);
	toolchain_run(subject.folder.path, "rm p");
	let_go(file);
	file->elsewhere = true;
	assert_int_equal(file_table_image(&subject.files, number, &image), 0);
	struct profile_image known = profile_image(subject.session, image);
	assert_int_equal(known.hash.size, 0);
	assert_int_equal(known.build_id.size, 4);
	assert_string_equal(known.name.data, file->path);
}

static void who_can_write_a_file_pays_for_looking_into_it(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t image;
	make(&subject);
	const struct file *own = file_table_get(&subject.files, find(&subject, "p", 0));
	assert_ptr_equal(own->share, &subject.shares.own);
	uint32_t number = find(&subject, "q", 0);
	const struct file *file = file_table_get(&subject.files, number);
	assert_true(file->share->strange);
	file->share->left_ns[SHARE_READING] = SHARE_READ_NS; /* as if nobody had read it */
	assert_int_equal(file_table_image(&subject.files, number, &image), 0);
	assert_int_equal(file->identity->content, CONTENT_FILE);
	assert_true(file->share->left_ns[SHARE_READING] < SHARE_READ_NS);
}

static void who_has_no_time_takes_no_file_from_others(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct mapped mapped = map_by(&subject, "p", stranger(&subject));
	const struct file *file = mapped.file;
	for (int i = 0; i < 8; i++)
		map_again_by(&subject, &mapped, mapped.hint.share);
	assert_int_equal(file->state, FILE_GONE);
	assert_true(file->unread);
	assert_null(file->share);
	map_again_by(&subject, &mapped, &subject.shares.own);
	assert_int_equal(file->state, FILE_IDENTIFIED);
	assert_false(file->unread);
	assert_ptr_equal(file->share, &subject.shares.own);
}

static void what_one_cannot_open_another_may(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t number;
	make(&subject);
	const char *path = temporary_folder_path(&subject.folder, "p");
	struct share *theirs = stranger(&subject);
	struct file_hint hint = hint_of(path, 0, theirs);
	give_time(theirs);
	hint.pid = INT32_MAX; /* such a process there never is */
	hint.path = span_of_text("/nowhere/p");
	for (int i = 0; i < 9; i++)
		number = find_by(&subject, &hint);
	const struct file *file = file_table_get(&subject.files, number);
	assert_int_equal(file->state, FILE_GONE);
	assert_int_equal(file->attempts, 4);
	hint = hint_of(path, 0, &subject.shares.own);
	hint.pid = INT32_MAX; /* it has ended, so by our path alone */
	assert_int_equal(find_by(&subject, &hint), number);
	assert_int_equal(file->state, FILE_IDENTIFIED);
	assert_string_equal(file->path, path);
}

static void what_had_to_wait_is_opened_when_it_is_sampled(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t image;
	make(&subject);
	struct mapped mapped = map_by(&subject, "p", stranger(&subject));
	assert_int_equal(file_table_image(&subject.files, mapped.number, &image), 0);
	assert_int_equal(mapped.file->state, FILE_GONE);
	give_time(mapped.hint.share);
	assert_int_equal(file_table_image(&subject.files, mapped.number, &image), 0);
	assert_int_equal(mapped.file->state, FILE_IDENTIFIED);
	assert_int_equal(profile_image(subject.session, image).build_id.size, 4);
}

static void who_has_no_time_is_told_from_what_is_gone(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct mapped mapped = map_by(&subject, "q", shares_of_user(&subject.shares, 65534));
	assert_int_equal(mapped.file->state, FILE_IDENTIFIED);
	let_go(mapped.file);
	mapped.file->path_trusted = false; /* as if it led nowhere for us */
	(void)stranger(&subject);
	assert_int_equal(file_table_open(&subject.files, mapped.number), -EDQUOT);
	give_time(stranger(&subject));
	CLEANUP(close_fd) int fd = file_table_open(&subject.files, mapped.number);
	assert_true(fd >= 0);
	toolchain_run(subject.folder.path, "rm q");
	assert_int_equal(file_table_open(&subject.files, mapped.number), -ENOENT);
}

static void where_we_see_a_file_nobody_else_has_to_pay(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct mapped mapped = map_by(&subject, "p", &subject.shares.own);
	map_again_by(&subject, &mapped, stranger(&subject));
	assert_ptr_equal(mapped.file->through, mapped.hint.share);
	let_go(mapped.file);
	mapped.file->by_path = true; /* also where this folder is on a mount of its own */
	CLEANUP(close_fd) int fd = file_table_open(&subject.files, mapped.number);
	assert_true(fd >= 0);
	/* Where nobody but the stranger named it, he could make us wait. */
	mapped.file->path_trusted = false;
	assert_int_equal(file_table_open(&subject.files, mapped.number), -EDQUOT);
}

static void who_has_a_path_of_his_own_pays_for_looking_there_once(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct mapped mapped = map_by(&subject, "p", &subject.shares.own);
	struct share *theirs = stranger(&subject);
	mapped.file->by_path = false; /* as if it had been met in a container */
	mapped.hint.path = span_of_text("/nowhere/p");
	map_again_by(&subject, &mapped, theirs);
	assert_int_equal(mapped.file->paths_refused_count, 0); /* nothing was looked at */
	give_time(theirs);
	for (int i = 0; i < 9; i++) {
		mapped.hint.path = span_of_text(i % 2 ? "/nowhere/p" : "/nowhere/q");
		map_again_by(&subject, &mapped, theirs);
	}
	assert_int_equal(mapped.file->paths_refused_count, 2);
	assert_true(theirs->left_ns[SHARE_READING] < SHARE_READ_NS);
	assert_ptr_equal(mapped.file->share, &subject.shares.own);
}

/* As /proc/PID/maps would name it, or a record on an overlay. */
static struct file_hint scan_of(struct subject *subject, const char *name, struct share *share)
{
	struct file_hint hint = hint_of(temporary_folder_path(&subject->folder, name), 0, share);
	hint.generation = 0;
	hint.generation_known = false;
	return hint;
}

static void what_is_scanned_and_then_recorded_is_one_file(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct share *own = &subject.shares.own;
	struct file_hint scanned = scan_of(&subject, "p", own);
	uint32_t number = find_by(&subject, &scanned);
	struct file_hint recorded = hint_of(temporary_folder_path(&subject.folder, "p"), 0, own);
	assert_int_equal(find_by(&subject, &recorded), number);
	struct file *file = file_table_get(&subject.files, number);
	assert_true(file->generation_known);
	assert_int_equal(file->generation, recorded.generation);
	recorded.generation++;
	assert_int_not_equal(find_by(&subject, &recorded), number);
	/* The other one of the inode cannot be opened: whoever scans finds the first. */
	let_go(file);
	assert_int_equal(find_by(&subject, &scanned), number);
}

static void what_everybody_maps_is_one_file_without_being_opened(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct stat root, here;
	assert_int_equal(stat("/", &root) | stat(subject.folder.path, &here), 0);
	if (root.st_dev != here.st_dev) {
		SKIP("files are held on the root's file system alone");
	}
	struct file_hint hint = scan_of(&subject, "p", &subject.shares.own);
	uint32_t number = find_by(&subject, &hint);
	hint = scan_of(&subject, "p", stranger(&subject));
	assert_int_equal(find_by(&subject, &hint), number);
	/* Neither held any more, nor with time to look: where we see it nobody has to pay. */
	let_go(file_table_get(&subject.files, number));
	file_table_get(&subject.files, number)->by_path = true;
	file_table_get(&subject.files, number)->generation_known = true;
	assert_int_equal(find_by(&subject, &hint), number);
}

static void another_file_of_the_inode_is_another_file(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct share *first = shares_of_user(&subject.shares, 1001);
	struct file_hint hint = scan_of(&subject, "q", first);
	uint32_t number = find_by(&subject, &hint);
	struct file *file = file_table_get(&subject.files, number);
	let_go(file);
	file->generation_known = false;
	file->changed_ns--; /* as if it had been on the inode before this one */
	hint = scan_of(&subject, "q", shares_of_user(&subject.shares, 1002));
	uint32_t other = find_by(&subject, &hint);
	assert_int_not_equal(other, number);
	assert_int_equal(file_table_get(&subject.files, other)->state, FILE_IDENTIFIED);
	assert_int_equal(find_by(&subject, &hint), other);
}

static void what_a_user_maps_is_compared_once(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct share *second = shares_of_user(&subject.shares, 1002);
	struct file_hint hint = scan_of(&subject, "q", shares_of_user(&subject.shares, 1001));
	uint32_t number = find_by(&subject, &hint);
	let_go(file_table_get(&subject.files, number));
	hint = scan_of(&subject, "q", second);
	uint64_t left_ns = second->left_ns[SHARE_READING];
	assert_int_equal(find_by(&subject, &hint), number);
	assert_true(second->left_ns[SHARE_READING] < left_ns); /* who needs it pays for it */
	toolchain_run(subject.folder.path, "rm q");
	for (int i = 0; i < 9; i++)
		assert_int_equal(find_by(&subject, &hint), number);
	/* Nobody knows what this one has mapped; it is asked for once. */
	hint.share = hint.payer = shares_of_user(&subject.shares, 1003);
	uint32_t other = find_by(&subject, &hint);
	assert_int_not_equal(other, number);
	assert_int_equal(file_table_get(&subject.files, other)->state, FILE_GONE);
	assert_int_equal(find_by(&subject, &hint), other);
}

static void what_is_called_a_device_is_no_file(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct file_hint hint =
		hint_of(temporary_folder_path(&subject.folder, "p"), 0, &subject.shares.own);
	struct file_hint device = hint;
	device.path = span_of_text("/dev/p"); /* as he names it who mounts it there */
	uint32_t number = find_by(&subject, &device);
	assert_int_not_equal(find_by(&subject, &hint), number);
	assert_int_equal(find_by(&subject, &device), number);
	device.path = span_of_text("/dev/q");
	assert_int_not_equal(find_by(&subject, &device), number);
}

static void a_build_id_alone_finds_no_file_that_others_write(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	struct mapped trusted = map_by(&subject, "p", NULL);
	struct mapped theirs = map_by(&subject, "q", NULL);
	let_go(trusted.file);
	let_go(theirs.file);
	toolchain_run(subject.folder.path, "for f in p q; do cp -p $f $f.new; mv $f.new $f; done");
	CLEANUP(close_fd) int fd = file_table_open(&subject.files, trusted.number);
	assert_true(fd < 0 || trusted.hint.generation == 7);
	CLEANUP(close_fd) int other = file_table_open(&subject.files, theirs.number);
	assert_true(other < 0);
	trusted.file->generation_known = theirs.file->generation_known = false;
	CLEANUP(close_fd) int again = file_table_open(&subject.files, trusted.number);
	assert_true(again >= 0);
	assert_int_equal(file_table_open(&subject.files, theirs.number), -ENOENT);
}

/* All but the table's own, and those. */
static void forget_all_but(struct subject *subject, const uint32_t *numbers, size_t count)
{
	bool in_use[64] = { false };
	assert_true(subject->files.count < 64);
	for (uint32_t number = 1; number <= subject->files.beyond; number++)
		in_use[number] = true;
	for (size_t i = 0; i < count; i++)
		in_use[numbers[i]] = true;
	file_table_forget(&subject->files, in_use);
}

static void a_file_that_was_forgotten_is_looked_at_anew(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	uint32_t image;
	make(&subject);
	struct mapped mapped = map_by(&subject, "p", NULL);
	assert_int_equal(file_table_image(&subject.files, mapped.number, &image), 0);
	forget_all_but(&subject, NULL, 0);
	assert_int_equal(subject.files.count, subject.files.beyond);
	assert_int_equal(subject.files.held_count, 0);
	assert_int_equal(subject.files.keeping.copies, 0);
	assert_int_equal(subject.files.by_inode.count, 0);
	/* Its number is the next one's, of which nothing is known before. */
	const struct mapped other = map_by(&subject, "q", NULL);
	assert_int_equal(other.number, mapped.number);
	assert_int_equal(other.file->state, FILE_IDENTIFIED);
	assert_int_equal(other.file->image, 0);
	const struct mapped again = map_by(&subject, "p", NULL);
	assert_int_not_equal(again.number, other.number);
	assert_int_equal(again.file->identity->content, CONTENT_NONE);
	uint32_t same;
	assert_int_equal(file_table_image(&subject.files, again.number, &same), 0);
	assert_int_equal(same, image);
}

static void files_of_one_inode_are_forgotten_one_by_one(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	make(&subject);
	const char *path = temporary_folder_path(&subject.folder, "p");
	struct file_hint hints[4];
	uint32_t numbers[4];
	for (uint32_t i = 0; i < 4; i++) {
		hints[i] = hint_of(path, 0, NULL);
		hints[i].generation += i;
		numbers[i] = find_by(&subject, &hints[i]);
	}
	forget_all_but(&subject, (const uint32_t[]){ numbers[0], numbers[2], numbers[3] }, 3);
	assert_int_equal(find_by(&subject, &hints[0]), numbers[0]);
	assert_int_equal(find_by(&subject, &hints[2]), numbers[2]);
	assert_int_equal(find_by(&subject, &hints[3]), numbers[3]);
	forget_all_but(&subject, &numbers[0], 1);
	assert_int_equal(find_by(&subject, &hints[0]), numbers[0]);
	forget_all_but(&subject, NULL, 0);
	assert_int_equal(find_by(&subject, &hints[3]), numbers[0]);
	assert_int_equal(subject.files.count, subject.files.beyond + 1);
}

static void who_mapped_a_file_that_was_forgotten_has_room_again(void **state)
{
	(void)state;
	CLEANUP(release) struct subject subject;
	char path[3 * FILE_PATH_UNIT_BYTES];
	make(&subject);
	struct share *share = stranger(&subject);
	struct file_hint hint = hint_of(temporary_folder_path(&subject.folder, "p"), 0, share);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	hint.path = (struct span){ path, sizeof(path) };
	find_by(&subject, &hint);
	assert_int_equal(share->held[SHARE_FILES], 4);
	forget_all_but(&subject, NULL, 0);
	assert_int_equal(share->held[SHARE_FILES], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_one_build_id_are_images_of_their_own),
		cmocka_unit_test(what_is_mapped_and_never_sampled_is_not_hashed),
		cmocka_unit_test(an_inode_of_another_device_is_another_file),
		cmocka_unit_test(what_cannot_be_looked_into_is_nobody_elses),
		cmocka_unit_test(who_can_write_a_file_pays_for_looking_into_it),
		cmocka_unit_test(who_has_no_time_takes_no_file_from_others),
		cmocka_unit_test(what_one_cannot_open_another_may),
		cmocka_unit_test(what_had_to_wait_is_opened_when_it_is_sampled),
		cmocka_unit_test(who_has_no_time_is_told_from_what_is_gone),
		cmocka_unit_test(where_we_see_a_file_nobody_else_has_to_pay),
		cmocka_unit_test(who_has_a_path_of_his_own_pays_for_looking_there_once),
		cmocka_unit_test(what_is_scanned_and_then_recorded_is_one_file),
		cmocka_unit_test(what_everybody_maps_is_one_file_without_being_opened),
		cmocka_unit_test(another_file_of_the_inode_is_another_file),
		cmocka_unit_test(what_a_user_maps_is_compared_once),
		cmocka_unit_test(what_is_called_a_device_is_no_file),
		cmocka_unit_test(a_build_id_alone_finds_no_file_that_others_write),
		cmocka_unit_test(a_file_that_was_forgotten_is_looked_at_anew),
		cmocka_unit_test(files_of_one_inode_are_forgotten_one_by_one),
		cmocka_unit_test(who_mapped_a_file_that_was_forgotten_has_room_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
