#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/json_read.h"

static void test_what_can_be_skipped(void **state)
{
	(void)state;
	static const char *const good[] = {
		"null",
		" true ",
		"-1.5e+3",
		"\"a\\\"b\"",
		"[]",
		"{}",
		"[1,[2,{\"a\":[]}],\"]\"]",
		"{\"a\":{\"b\":1},\"c\":[{}]}\n",
	};
	static const struct {
		const char *text, *fault;
	} bad[] = {
		{ "", "the document is cut off" },
		{ "[1", "the document is cut off" },
		{ "[1 2]", "a comma is missing" },
		{ "[1,]", "a number was expected" },
		{ "[,1]", "a number was expected" },
		{ "{\"a\" 1}", "a member of an object was expected" },
		{ "{1:2}", "a member of an object was expected" },
		{ "tru", "a value was expected" },
		{ "1.", "a number was expected" },
		{ "-", "a number was expected" },
		{ "1e", "a number was expected" },
		{ "\"a", "the document is cut off" },
		{ "\"a\\", "the document is cut off" },
		{ "[1]]", "there is more behind the document" },
	};
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct json_reader json = json_reader_of(span_of_text(good[i]));
		if (!json_skip(&json) || !json_at_end(&json))
			fail_msg("%s: %s", good[i], json.fault);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct json_reader json = json_reader_of(span_of_text(bad[i].text));
		assert_false(json_skip(&json) && json_at_end(&json));
		if (strcmp(json.fault, bad[i].fault) != 0)
			fail_msg("%s: %s", bad[i].text, json.fault);
	}
}

static void test_nesting_is_bounded(void **state)
{
	(void)state;
	char text[2 * JSON_READ_DEPTH + 3];
	for (size_t depth = JSON_READ_DEPTH; depth <= JSON_READ_DEPTH + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		struct json_reader json = json_reader_of((struct span){ text, 2 * depth });
		assert_int_equal(json_skip(&json), depth == JSON_READ_DEPTH);
	}
}

static void test_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wanted; /* NULL: a fault */
	} texts[] = {
		{ "\"\"", "" },
		{ "\"a\\n\\t\\\\\\/\\\"\"", "a\n\t\\/\"" },
		{ "\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac" },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80" },
		{ "\"\\ud83dx\"", "\xef\xbf\xbdx" },
		{ "\"\\ud83d\\u0041\"", "\xef\xbf\xbd\x41" },
		{ "\"\\q\"", NULL },
		{ "\"\\u12\"", NULL },
		{ "\"\\u12", NULL },
		{ "1", NULL },
	};
	CLEANUP(buffer_release) struct buffer out = { 0 };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct json_reader json = json_reader_of(span_of_text(texts[i].text));
		assert_int_equal(json_read_text(&json, &out), texts[i].wanted != NULL);
		if (texts[i].wanted)
			assert_string_equal(buffer_text(&out), texts[i].wanted);
	}
}

static void test_members_and_numbers(void **state)
{
	(void)state;
	struct json_reader json = json_reader_of(span_of_text("{\"a\": 18446744073709551615, "
							      "\"b\":[1.5,2] }"));
	CLEANUP(buffer_release) struct buffer key = { 0 };
	bool members = false, elements = false;
	uint64_t value;
	struct span number;
	assert_true(json_enter(&json, '{'));
	assert_true(json_next_member(&json, &members, &key));
	assert_string_equal(buffer_text(&key), "a");
	assert_true(json_read_u64(&json, &value));
	assert_true(value == UINT64_MAX);
	assert_true(json_next_member(&json, &members, &key));
	assert_true(json_enter(&json, '['));
	assert_true(json_next(&json, &elements));
	struct json_reader other = json;
	assert_false(json_read_u64(&other, &value));
	assert_true(json_read_number(&json, &number));
	assert_int_equal(number.size, 3);
	assert_true(json_next(&json, &elements));
	assert_true(json_skip(&json));
	assert_false(json_next(&json, &elements));
	assert_false(json_next_member(&json, &members, &key));
	assert_true(json_at_end(&json));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_be_skipped),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_members_and_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
