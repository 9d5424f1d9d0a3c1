#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/file_table.h"
#include "collect/shares.h"
#include "image/writer.h"
#include "profile/profile.h"
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

/* As a record of a mapping would name it, which lies `devices` further on. */
static struct file_hint hint_of(const char *path, unsigned devices, struct share *share)
{
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	return (struct file_hint){ .pid = (uint32_t)getpid(),
				   .has_inode = true,
				   .major = major(info.st_dev),
				   .minor = minor(info.st_dev) + devices,
				   .inode = info.st_ino,
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
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
