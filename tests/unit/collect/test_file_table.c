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
static uint32_t find(struct subject *subject, const char *name, unsigned devices)
{
	struct stat info;
	const char *path = temporary_folder_path(&subject->folder, name);
	uint32_t number;
	assert_int_equal(stat(path, &info), 0);
	const struct file_hint hint = { .pid = (uint32_t)getpid(),
					.has_inode = true,
					.major = major(info.st_dev),
					.minor = minor(info.st_dev) + devices,
					.inode = info.st_ino,
					.path = span_of_text(path) };
	assert_int_equal(file_table_find(&subject->files, &hint, &number), 0);
	return number;
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
	close(file->fd); /* it was not held, as of many files some are not */
	file->fd = -1;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_one_build_id_are_images_of_their_own),
		cmocka_unit_test(what_is_mapped_and_never_sampled_is_not_hashed),
		cmocka_unit_test(an_inode_of_another_device_is_another_file),
		cmocka_unit_test(what_cannot_be_looked_into_is_nobody_elses),
		cmocka_unit_test(who_can_write_a_file_pays_for_looking_into_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
