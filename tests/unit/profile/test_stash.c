#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "support/test_profile.h"

static void add_function(struct profile *profile, uint32_t image, uint64_t first, uint64_t last,
			 const char *name, uint64_t flags, uint64_t parent)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct function_record function = { flags, parent, span_of_text(name) };
	record_put_function(&content, first, &function);
	struct record record = { RECORD_FUNCTION, first, last, { content.data, content.size } };
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
}

static void add_code(struct profile *profile, uint32_t image, uint64_t first, const char *code)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	record_put_code(&content, span_of_text(code));
	struct record record = {
		RECORD_CODE, first, first + strlen(code) - 1, { content.data, content.size }
	};
	assert_int_equal(stash_add(profile, image, &record, NULL), 0);
}

static struct stash_index *index_of(const struct profile *profile)
{
	struct stash_index *index = NULL;
	assert_int_equal(stash_index_new(profile, &index), 0);
	return index;
}

static void assert_function(const struct stash_index *index, uint32_t image, uint64_t vaddr,
			    const char *name)
{
	struct stash_function function;
	if (!name) {
		assert_false(stash_find_function(index, image, vaddr, &function));
		return;
	}
	assert_true(stash_find_function(index, image, vaddr, &function));
	assert_true(span_equal(function.function.name, span_of_text(name)));
}

static uint32_t add_image(struct profile *profile, const char *build_id)
{
	struct profile_image image = { .kind = IMAGE_FILE, .build_id = span_of_text(build_id) };
	uint32_t id;
	assert_int_equal(profile_add_image(profile, &image, &id), 0);
	return id;
}

/* Two images of one profile with the same addresses. */
static struct test_profile make(uint32_t *one, uint32_t *two)
{
	struct test_profile test = test_profile_new();
	*one = add_image(test.profile, "\1\2\3");
	*two = add_image(test.profile, "\4\5\6");
	return test;
}

static void functions_are_found_by_image_and_address(void **state)
{
	(void)state;
	uint32_t one, two;
	struct test_profile test = make(&one, &two);
	add_function(test.profile, one, 100, 199, "f", 0, 0);
	add_function(test.profile, one, 150, 159, "inner", 0, 0);
	add_function(test.profile, two, 100, 109, "g", 0, 0);
	add_function(test.profile, one, 300, 309, "f.cold", FUNCTION_COLD, 100);
	CLEANUP(stash_index_freep) struct stash_index *index = index_of(test.profile);
	assert_function(index, one, 99, NULL);
	assert_function(index, one, 100, "f");
	assert_function(index, one, 155, "inner");
	assert_function(index, one, 160, "f");
	assert_function(index, two, 100, "g");
	assert_function(index, two, 110, NULL);
	assert_function(index, 0, 100, NULL);
	assert_function(index, 99, 100, NULL);
	assert_true(stash_has_image(index, one));
	assert_false(stash_has_image(index, 99));

	struct stash_function found;
	assert_true(stash_find_cold(index, one, 100, &found));
	assert_int_equal(found.first, 300);
	assert_false(stash_find_cold(index, two, 100, &found));
	profile_free(test.profile);
}

/* Two hosts of one build: one knew names, the other only extents; aliases differ. */
static void the_choice_among_records_does_not_depend_on_their_order(void **state)
{
	(void)state;
	static const struct {
		uint64_t first, last, flags;
		const char *name;
	} records[] = {
		{ 100, 199, FUNCTION_UNNAMED, "" }, { 100, 199, 0, "beta" },
		{ 100, 199, 0, "alpha" },	    { 100, 250, 0, "long" },
		{ 120, 130, FUNCTION_UNNAMED, "" },
	};
	enum { COUNT = sizeof(records) / sizeof(records[0]) };
	for (size_t start = 0; start < COUNT; start++) {
		uint32_t one, two;
		struct test_profile test = make(&one, &two);
		for (size_t i = 0; i < COUNT; i++) {
			size_t k = (start + i) % COUNT;
			add_function(test.profile, one, records[k].first, records[k].last,
				     records[k].name, records[k].flags, 0);
		}
		CLEANUP(stash_index_freep) struct stash_index *index = index_of(test.profile);
		assert_function(index, one, 100, "alpha");
		assert_function(index, one, 125, "alpha"); /* named before unnamed */
		assert_function(index, one, 200, "long");
		profile_free(test.profile);
	}
}

static void code_and_lines_are_found_by_any_address_in_them(void **state)
{
	(void)state;
	uint32_t one, two;
	struct test_profile test = make(&one, &two);
	add_code(test.profile, one, 100, "abcdef");
	CLEANUP(buffer_release) struct buffer content = { 0 };
	struct lines_writer writer;
	lines_writer_init(&writer, 100);
	lines_writer_row(&writer, 102, 0, span_of_text("a.c"), 7);
	assert_int_equal(lines_writer_finish(&writer, &content), 0);
	lines_writer_release(&writer);
	struct record record = { RECORD_LINES, 100, 105, { content.data, content.size } };
	assert_int_equal(stash_add(test.profile, one, &record, NULL), 0);

	CLEANUP(stash_index_freep) struct stash_index *index = index_of(test.profile);
	uint64_t first = 0;
	struct span code = stash_find_code(index, one, 105, &first);
	assert_true(span_equal(code, span_of_text("abcdef")));
	assert_int_equal(first, 100);
	assert_int_equal(stash_find_code(index, one, 106, &first).size, 0);
	const struct lines_table *lines = stash_find_lines(index, one, 104);
	assert_non_null(lines);
	assert_ptr_equal(lines, stash_find_lines(index, one, 100));
	assert_int_equal(lines_table_find(lines, 104)->line, 7);
	assert_null(lines_table_find(lines, 101));
	assert_null(stash_find_lines(index, two, 104));
	profile_free(test.profile);
}

static void damaged_records_are_refused_and_counted(void **state)
{
	(void)state;
	uint32_t one, two, content;
	struct test_profile test = make(&one, &two);
	struct error err;
	struct record record = { RECORD_CODE, 1, 9, { "\1x", 2 } };
	assert_int_equal(stash_add(test.profile, one, &record, &err), -EBADMSG);
	assert_string_equal(err.text, "a record of the stash cannot be kept: it is no code record");
	/* A file from a stranger may have it all the same. */
	assert_int_equal(profile_add_bytes(test.profile, record.content, &content), 0);
	uint64_t keys[] = { one, RECORD_CODE, 1, 9, content };
	assert_int_equal(table_add(test.profile->tables[PROFILE_STASH], keys, NULL, NULL), 0);
	keys[STASH_KIND] = RECORD_FUNCTION;
	assert_int_equal(table_add(test.profile->tables[PROFILE_STASH], keys, NULL, NULL), 0);
	keys[STASH_KIND] = 77; /* of a later version: no damage */
	assert_int_equal(table_add(test.profile->tables[PROFILE_STASH], keys, NULL, NULL), 0);
	add_function(test.profile, one, 1, 9, "good", 0, 0);
	CLEANUP(stash_index_freep) struct stash_index *index = index_of(test.profile);
	assert_int_equal(stash_index_damaged(index), 2);
	assert_function(index, one, 5, "good");
	profile_free(test.profile);
}

static void merging_is_the_union_of_the_stashes(void **state)
{
	(void)state;
	uint32_t one, two;
	struct test_profile left = make(&one, &two);
	add_function(left.profile, two, 100, 199, "same", 0, 0);
	add_function(left.profile, one, 1, 9, "left", 0, 0);
	struct test_profile right = test_profile_new();
	uint32_t other = add_image(right.profile, "\4\5\6");
	assert_int_not_equal(other, two);
	add_function(right.profile, other, 100, 199, "same", 0, 0);
	add_function(right.profile, other, 200, 299, "right", 0, 0);
	assert_int_equal(profile_merge(left.profile, right.profile, NULL), 0);
	assert_int_equal(profile_table(left.profile, PROFILE_STASH)->count, 3);
	CLEANUP(stash_index_freep) struct stash_index *index = index_of(left.profile);
	assert_function(index, two, 150, "same");
	assert_function(index, two, 250, "right");
	assert_function(index, one, 5, "left");
	profile_free(left.profile);
	profile_free(right.profile);
}

static void each_function_is_in_one_list_of_names_around_it(void **state)
{
	(void)state;
	uint32_t one, two;
	struct test_profile test = make(&one, &two);
	for (uint64_t i = 0; i < 10; i++)
		add_function(test.profile, one, 100 * i, 100 * i + 99, "f", 0, 0);
	add_code(test.profile, one, 100, "\1\2");
	add_function(test.profile, two, 100, 199, "g", 0, 0);
	CLEANUP(stash_index_freep) struct stash_index *index = index_of(test.profile);
	struct stash_function found;
	struct span names[4];
	static const size_t counts[] = { 4, 4, 4, 4, 4, 4, 4, 4, 2, 2 };
	for (uint64_t i = 0; i < 10; i++) {
		assert_true(stash_find_function(index, one, 100 * i, &found));
		assert_int_equal(stash_names_around(index, &found, names, 4), counts[i]);
		assert_true(span_equal(names[0], span_of_text("f")));
	}
	assert_true(stash_find_function(index, two, 100, &found));
	assert_int_equal(stash_names_around(index, &found, names, 4), 1);
	assert_true(span_equal(names[0], span_of_text("g")));
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_by_image_and_address),
		cmocka_unit_test(the_choice_among_records_does_not_depend_on_their_order),
		cmocka_unit_test(code_and_lines_are_found_by_any_address_in_them),
		cmocka_unit_test(damaged_records_are_refused_and_counted),
		cmocka_unit_test(each_function_is_in_one_list_of_names_around_it),
		cmocka_unit_test(merging_is_the_union_of_the_stashes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
