#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "support/temporary_folder.h"
#include "support/toolchain.h"
#include "symbol/reader.h"

/* What is hashed of a program, before and after it is changed. */
struct subject {
	struct temporary_folder folder;
	struct reader *reader;
};

static struct subject make_subject(const char *options)
{
	struct subject subject = { .folder = temporary_folder_make() };
	toolchain_write(subject.folder.path, "p.c",
			"static __attribute__((noinline)) int inner(int x) { return x * 3; }\n"
			"int main(int c, char **v) { (void)v; return inner(c); }\n");
	toolchain_run(subject.folder.path, "cc -g -O1 %s -Wl,--build-id=0x12345678 p.c -o p",
		      options);
	assert_int_equal(reader_new(NULL, &subject.reader, NULL), 0);
	return subject;
}

static void subject_release(struct subject *subject)
{
	reader_free(subject->reader);
	temporary_folder_remove(&subject->folder);
}

static struct hash128 content_of(struct subject *subject, const char *name, enum content_kind kind,
				 const char *unique)
{
	struct identity identity;
	struct error err;
	CLEANUP(free_pointer) char *path = NULL;
	assert_true(asprintf(&path, "%s/%s", subject->folder.path, name) > 0);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(reader_identify_content(subject->reader, fd, kind,
						 (struct span){ unique, strlen(unique) }, &identity,
						 &err),
			 0);
	assert_int_equal(identity.content, kind);
	assert_int_equal(identity.build_id_bytes, 4);
	return identity.hash;
}

static bool same(struct hash128 a, struct hash128 b)
{
	return a.high == b.high && a.low == b.low;
}

static bool same_content(struct subject *subject, const char *name, enum content_kind kind)
{
	return same(content_of(subject, "p", kind, ""), content_of(subject, name, kind, ""));
}

static void names_count_only_where_others_can_write_them(void **state)
{
	(void)state;
	/* both layouts: the ELF header lies in the code's segment, or in one of its own */
	static const char *const layouts[] = { "-Wl,-z,noseparate-code", "-Wl,-z,separate-code" };
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(subject_release) struct subject subject = make_subject(layouts[i]);
		toolchain_run(subject.folder.path,
			      "cp p copy; touch -d 2001-01-01 copy; strip -o stripped p; "
			      "objcopy --redefine-sym inner=stolen p renamed");
		assert_true(same_content(&subject, "copy", CONTENT_TEXT));
		assert_true(same_content(&subject, "stripped", CONTENT_TEXT));
		assert_true(same_content(&subject, "renamed", CONTENT_TEXT));
		assert_true(same_content(&subject, "copy", CONTENT_FILE));
		assert_false(same_content(&subject, "stripped", CONTENT_FILE));
		assert_false(same_content(&subject, "renamed", CONTENT_FILE));
		assert_false(same(content_of(&subject, "p", CONTENT_TEXT, ""),
				  content_of(&subject, "p", CONTENT_FILE, "")));
	}
}

static void other_code_of_that_build_id_is_other_content(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = make_subject("");
	toolchain_run(subject.folder.path, "sed 's/\\* 3/* 5/' p.c >q.c; "
					   "cc -g -O1 -Wl,--build-id=0x12345678 q.c -o q");
	assert_false(same_content(&subject, "q", CONTENT_TEXT));
	assert_false(same_content(&subject, "q", CONTENT_FILE));
	assert_false(same_content(&subject, "q", CONTENT_OLD));
}

static void a_large_file_is_told_by_what_its_owner_cannot_choose(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = make_subject("");
	toolchain_run(subject.folder.path, "cp p large; truncate -s 70M large");
	const enum content_kind kind = CONTENT_FILE;
	assert_true(same(content_of(&subject, "large", kind, "inode 1"),
			 content_of(&subject, "large", kind, "inode 1")));
	assert_false(same(content_of(&subject, "large", kind, "inode 1"),
			  content_of(&subject, "large", kind, "inode 2")));
	assert_true(same(content_of(&subject, "p", kind, "inode 1"),
			 content_of(&subject, "p", kind, "inode 2")));
	assert_true(same(content_of(&subject, "large", CONTENT_TEXT, "inode 1"),
			 content_of(&subject, "p", CONTENT_TEXT, "inode 2")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_count_only_where_others_can_write_them),
		cmocka_unit_test(other_code_of_that_build_id_is_other_content),
		cmocka_unit_test(a_large_file_is_told_by_what_its_owner_cannot_choose),
	};
	if (!toolchain_has("objcopy"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
