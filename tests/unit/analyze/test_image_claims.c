#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/names/image_claims.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"
#include "image/writer.h"
#include "support/test_profile.h"

#define NOBODY	  0
#define USER_1000 writer_of(WRITER_USER, 1000)
#define USER_1001 writer_of(WRITER_USER, 1001)

/* A profile of a few files, and what is said of them. */
struct subject {
	struct test_profile test;
	struct arena arena;
	struct image_claims claims;
	struct buffer told; /* a line for each sentence */
};

static int make_subject(void **state)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	if (!subject)
		return -1;
	subject->test = test_profile_new();
	*state = subject;
	return 0;
}

static int free_subject(void **state)
{
	struct subject *subject = *state;
	image_claims_release(&subject->claims);
	arena_release(&subject->arena);
	buffer_release(&subject->told);
	profile_free(subject->test.profile);
	free(subject);
	return 0;
}

/* Either may be NULL: not known. */
static uint32_t add_file(struct subject *subject, const char *path, const char *build_id,
			 const char *hash, uint64_t writer)
{
	const struct profile_image image = { .kind = IMAGE_FILE,
					     .build_id = span_of_text(build_id),
					     .hash = span_of_text(hash),
					     .writer = writer };
	uint32_t id = test_image_full(&subject->test, &image);
	assert_int_equal(profile_add_path(subject->test.profile, id, span_of_text(path)), 0);
	return id;
}

/* Its content is not known, so its name is a part of what it is. */
static uint32_t add_named_file(struct subject *subject, const char *name, const char *build_id)
{
	const struct profile_image image = { .kind = IMAGE_FILE,
					     .build_id = span_of_text(build_id),
					     .name = span_of_text(name) };
	return test_image_full(&subject->test, &image);
}

static void take_sentence(void *context, const char *sentence)
{
	struct buffer *told = context;
	buffer_append_text(told, sentence);
	buffer_append_u8(told, '\n');
}

/* After the last file was added. */
static void judge(struct subject *subject)
{
	assert_int_equal(
		image_claims_init(&subject->claims, subject->test.profile, &subject->arena), 0);
	assert_int_equal(image_claims_note(&subject->claims, take_sentence, &subject->told), 0);
	assert_false(buffer_failed(&subject->told));
}

static void expect_name(struct subject *subject, uint32_t image, const char *wanted)
{
	const char *name = image_claims_name(&subject->claims, image, &subject->arena);
	assert_non_null(name);
	assert_string_equal(name, wanted);
}

static void expect_told(struct subject *subject, const char *wanted)
{
	assert_string_equal(buffer_text(&subject->told), wanted);
}

static void files_of_one_name_that_different_users_write_tell_their_owner(void **state)
{
	struct subject *subject = *state;
	uint32_t user = add_file(subject, "/home/u/libx.so", "two", "BBBBBBBB", USER_1000);
	uint32_t between = add_file(subject, "/usr/bin/x", "four", "DDDDDDDD", NOBODY);
	uint32_t system = add_file(subject, "/usr/lib/libx.so", "one", "AAAAAAAA", NOBODY);
	uint32_t other = add_file(subject, "/tmp/libx.so", "three", "CCCCCCCC", USER_1001);
	judge(subject);
	expect_name(subject, between, "x");
	expect_name(subject, system, "libx.so");
	expect_name(subject, user, "libx.so (uid 1000: /home/u/libx.so)");
	expect_name(subject, other, "libx.so (uid 1001: /tmp/libx.so)");
	expect_told(subject, "2 files can be written by others than root and who recorded, who "
			     "choose what their code is called: '/home/u/libx.so' (uid 1000), "
			     "'/tmp/libx.so' (uid 1001)\n");
}

static void files_of_one_name_writer_and_build_id_tell_their_content(void **state)
{
	struct subject *subject = *state;
	uint32_t first = add_file(subject, "/a/libx.so", "0123", "AAAAAAAA", NOBODY);
	uint32_t second = add_file(subject, "/b/libx.so", "0123", "BBBBBBBB", NOBODY);
	judge(subject);
	expect_name(subject, first, "libx.so (41414141)");
	expect_name(subject, second, "libx.so (42424242)");
	expect_told(subject, "2 different files claim build-id 30313233, each is shown by itself: "
			     "'/a/libx.so', '/b/libx.so'\n");
}

static void files_of_one_user_tell_their_owner_and_their_content(void **state)
{
	struct subject *subject = *state;
	uint32_t first = add_file(subject, "/a/libx.so", "0123", "AAAAAAAA", USER_1000);
	uint32_t second = add_file(subject, "/b/libx.so", "0123", "CCCCCCCC", USER_1000);
	uint32_t third = add_file(subject, "/c/libx.so", "4567", "BBBBBBBB", USER_1000);
	judge(subject);
	expect_name(subject, first, "libx.so (uid 1000: /a/libx.so, 41414141)");
	expect_name(subject, second, "libx.so (uid 1000: /b/libx.so, 43434343)");
	expect_name(subject, third,
		    "libx.so"); /* the only one of its build-id, and no other user has one */
}

static void files_of_one_build_id_and_unknown_content_are_told_apart_by_name(void **state)
{
	struct subject *subject = *state;
	uint32_t first = add_named_file(subject, "/a/libx.so", "0123");
	uint32_t second = add_named_file(subject, "/b/libx.so", "0123");
	judge(subject);
	expect_name(subject, first, "libx.so (/a/libx.so)");
	expect_name(subject, second, "libx.so (/b/libx.so)");
	expect_told(subject, "2 different files claim build-id 30313233, each is shown by itself: "
			     "'/a/libx.so', '/b/libx.so'\n");
}

static void a_users_claim_does_not_change_what_the_systems_file_is_called(void **state)
{
	struct subject *subject = *state;
	uint32_t system = add_file(subject, "/usr/lib/libx.so", "0123", "AAAAAAAA", NOBODY);
	uint32_t user = add_file(subject, "/tmp/libx.so", "0123", "BBBBBBBB", USER_1000);
	judge(subject);
	expect_name(subject, system, "libx.so");
	expect_name(subject, user, "libx.so (uid 1000: /tmp/libx.so)");
}

/* They may be one file. */
static void known_content_is_not_compared_with_a_name(void **state)
{
	struct subject *subject = *state;
	uint32_t content = add_file(subject, "/a/libx.so", "0123", "AAAAAAAA", NOBODY);
	uint32_t name = add_named_file(subject, "/b/libx.so", "0123");
	uint32_t neither = add_file(subject, "/c/libx.so", "0123", NULL, NOBODY);
	judge(subject);
	expect_name(subject, content, "libx.so");
	expect_name(subject, name, "libx.so");
	expect_name(subject, neither, "libx.so");
	expect_told(subject, "");
}

static void contents_and_names_of_one_build_id_are_compared_among_themselves(void **state)
{
	struct subject *subject = *state;
	uint32_t content = add_file(subject, "/a/libx.so", "0123", "AAAAAAAA", NOBODY);
	uint32_t name = add_named_file(subject, "/b/libx.so", "0123");
	uint32_t other_name = add_named_file(subject, "/d/libx.so", "0123");
	uint32_t other_content = add_file(subject, "/c/libx.so", "0123", "BBBBBBBB", NOBODY);
	judge(subject);
	expect_name(subject, content, "libx.so (41414141)");
	expect_name(subject, name, "libx.so (/b/libx.so)");
	expect_name(subject, other_content, "libx.so (42424242)");
	expect_name(subject, other_name, "libx.so (/d/libx.so)");
	expect_told(subject, "2 different files claim build-id 30313233, each is shown by itself: "
			     "'/a/libx.so', '/c/libx.so'\n"
			     "2 different files claim build-id 30313233, each is shown by itself: "
			     "'/b/libx.so', '/d/libx.so'\n");
}

static void one_content_that_different_users_write_is_of_different_files(void **state)
{
	struct subject *subject = *state;
	add_file(subject, "/a/x", "0123", "AAAAAAAA", NOBODY);
	add_file(subject, "/b/y", "0123", "AAAAAAAA", USER_1000);
	judge(subject);
	expect_told(subject, "2 different files claim build-id 30313233, each is shown by itself: "
			     "'/a/x', '/b/y' (uid 1000)\n"
			     "1 file can be written by others than root and who recorded, who "
			     "choose what its code is called: '/b/y' (uid 1000)\n");
}

static void of_many_files_of_one_build_id_the_first_three_paths_are_told(void **state)
{
	struct subject *subject = *state;
	add_file(subject, "/e", "0123", "AAAAAAAA", NOBODY);
	add_file(subject, "/b", "0123", "BBBBBBBB", NOBODY);
	add_file(subject, "/d", "0123", "CCCCCCCC", NOBODY);
	add_file(subject, "/a", "0123", "DDDDDDDD", NOBODY);
	add_file(subject, "/c", "0123", "EEEEEEEE", NOBODY);
	judge(subject);
	expect_told(subject, "5 different files claim build-id 30313233, each is shown by itself: "
			     "'/a', '/b', '/c' and 2 more\n");
}

/* Neither the order of the build-ids nor that of the contents is that of the images. */
static void of_many_shared_build_ids_the_first_three_by_image_are_told(void **state)
{
	struct subject *subject = *state;
	static const char *const builds[] = { "c", "a", "d", "e", "b" };
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		const char path[] = { '/', builds[i][0], 0 };
		const char other[] = { '/', builds[i][0], '2', 0 };
		add_file(subject, path, builds[i], "BBBBBBBB", NOBODY);
		add_file(subject, other, builds[i], "AAAAAAAA", NOBODY);
	}
	judge(subject);
	expect_told(subject, "2 different files claim build-id 63, each is shown by itself: "
			     "'/c', '/c2'\n"
			     "2 different files claim build-id 61, each is shown by itself: "
			     "'/a', '/a2'\n"
			     "2 different files claim build-id 64, each is shown by itself: "
			     "'/d', '/d2'\n");
}

static void a_build_id_stands_where_the_first_of_its_images_does(void **state)
{
	struct subject *subject = *state;
	add_file(subject, "/y", "y", "BBBBBBBB", NOBODY);
	add_file(subject, "/x", "x", "AAAAAAAA", NOBODY);
	add_file(subject, "/x2", "x", "BBBBBBBB", NOBODY);
	add_file(subject, "/y2", "y", "AAAAAAAA", NOBODY);
	judge(subject);
	expect_told(subject, "2 different files claim build-id 79, each is shown by itself: "
			     "'/y', '/y2'\n"
			     "2 different files claim build-id 78, each is shown by itself: "
			     "'/x', '/x2'\n");
}

static void of_files_that_share_nothing_nothing_is_told(void **state)
{
	struct subject *subject = *state;
	uint32_t first = add_file(subject, "/usr/bin/x", "one", "AAAAAAAA", NOBODY);
	uint32_t second = add_file(subject, "/usr/bin/y", "two", "BBBBBBBB", NOBODY);
	uint32_t third = add_named_file(subject, "/usr/bin/z", "three");
	judge(subject);
	expect_name(subject, first, "x");
	expect_name(subject, second, "y");
	expect_name(subject, third, "z");
	expect_told(subject, "");
}

/* Two releases of a library, say: their build-ids tell them apart, and nobody lies. */
static void a_shared_name_alone_is_no_claim(void **state)
{
	struct subject *subject = *state;
	uint32_t first = add_file(subject, "/a/libx.so", "one", "AAAAAAAA", NOBODY);
	uint32_t second = add_file(subject, "/b/libx.so", "two", "BBBBBBBB", NOBODY);
	uint32_t third = add_file(subject, "/c/libx.so", NULL, "CCCCCCCC", NOBODY);
	uint32_t fourth = add_file(subject, "/d/libx.so", NULL, "DDDDDDDD", NOBODY);
	judge(subject);
	expect_name(subject, first, "libx.so");
	expect_name(subject, second, "libx.so");
	expect_name(subject, third, "libx.so");
	expect_name(subject, fourth, "libx.so");
	expect_told(subject, "");
}

static void a_file_is_called_after_its_best_path_and_others_not_at_all(void **state)
{
	struct subject *subject = *state;
	uint32_t file = add_file(subject, "/a/told", "one", "AAAAAAAA", NOBODY);
	assert_int_equal(profile_add_seen_path(subject->test.profile, file,
					       span_of_text("/b/seen (deleted)"), PATH_SEEN_BY_US),
			 0);
	uint32_t kernel = test_image(&subject->test, IMAGE_KERNEL, "[kernel]", NULL);
	uint32_t pathless = add_named_file(subject, NULL, "two");
	judge(subject);
	expect_name(subject, file, "seen");
	assert_null(image_claims_name(&subject->claims, kernel, &subject->arena));
	assert_null(image_claims_name(&subject->claims, pathless, &subject->arena));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_SUBJECT(f) cmocka_unit_test_setup_teardown(f, make_subject, free_subject)
		WITH_SUBJECT(files_of_one_name_that_different_users_write_tell_their_owner),
		WITH_SUBJECT(files_of_one_name_writer_and_build_id_tell_their_content),
		WITH_SUBJECT(files_of_one_user_tell_their_owner_and_their_content),
		WITH_SUBJECT(files_of_one_build_id_and_unknown_content_are_told_apart_by_name),
		WITH_SUBJECT(a_users_claim_does_not_change_what_the_systems_file_is_called),
		WITH_SUBJECT(known_content_is_not_compared_with_a_name),
		WITH_SUBJECT(contents_and_names_of_one_build_id_are_compared_among_themselves),
		WITH_SUBJECT(one_content_that_different_users_write_is_of_different_files),
		WITH_SUBJECT(of_many_files_of_one_build_id_the_first_three_paths_are_told),
		WITH_SUBJECT(of_many_shared_build_ids_the_first_three_by_image_are_told),
		WITH_SUBJECT(a_build_id_stands_where_the_first_of_its_images_does),
		WITH_SUBJECT(of_files_that_share_nothing_nothing_is_told),
		WITH_SUBJECT(a_shared_name_alone_is_no_claim),
		WITH_SUBJECT(a_file_is_called_after_its_best_path_and_others_not_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
