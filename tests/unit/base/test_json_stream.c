#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/json_stream.h"
#include "base/random.h"

/* Some document, written here and built there. */
static struct json_object *random_value(struct random_state *random, struct json_stream *json,
					const char *key, unsigned depth)
{
	static const char *const keys[] = { "a", "b_ns", "c", "d", "e", "f" };
	char text[24];
	switch (random_below(random, depth < 6 ? 6 : 4)) {
	case 0:
		json_stream_null(json, key);
		return NULL;
	case 1: {
		uint64_t value = UINT64_MAX >> random_below(random, 64);
		if (random_below(random, 2)) {
			json_stream_i64(json, key, (int64_t)~value);
			return json_object_new_int64((int64_t)~value);
		}
		json_stream_u64(json, key, value);
		return json_object_new_uint64(value);
	}
	case 2:
		json_stream_bool(json, key, depth % 2);
		return json_object_new_boolean(depth % 2);
	case 3: {
		size_t size = random_below(random, sizeof(text));
		for (size_t i = 0; i < size; i++)
			text[i] = (char)random_below(random, 127); /* json-c lets DEL through */
		json_stream_span(json, key, (struct span){ text, size });
		return json_object_new_string_len(text, (int)size);
	}
	case 4: {
		struct json_object *object = json_object_new_object();
		json_stream_open(json, key, '{', JSON_LINES);
		size_t count = random_below(random, 6);
		for (size_t i = 0; i < count; i++)
			json_object_object_add(object, keys[i],
					       random_value(random, json, keys[i], depth + 1));
		json_stream_close(json, '}');
		return object;
	}
	default: {
		struct json_object *array = json_object_new_array();
		json_stream_open(json, key, '[', JSON_LINES);
		for (size_t count = random_below(random, 6); count > 0; count--)
			json_object_array_add(array, random_value(random, json, NULL, depth + 1));
		json_stream_close(json, ']');
		return array;
	}
	}
}

static void documents_read_as_those_of_json_c(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++) {
		CLEANUP(buffer_release) struct buffer out = { 0 };
		struct json_stream json = { .out = &out };
		struct random_state random = random_seed(seed);
		struct json_object *document = random_value(&random, &json, NULL, 0);
		const char *theirs = json_object_to_json_string_ext(
			document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
		assert_string_equal(buffer_text(&out), theirs);
		json_object_put(document);
	}
}

static void a_flat_object_is_one_line(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct json_stream json = { .out = &out };
	json_stream_open(&json, NULL, '[', JSON_LINES);
	json_stream_open(&json, NULL, '{', JSON_ONE_LINE);
	json_stream_double(&json, "x", 0.5);
	json_stream_double(&json, "y", NAN);
	json_stream_open(&json, "z", '[', JSON_LINES);
	json_stream_text(&json, NULL, "w");
	json_stream_text(&json, NULL, NULL);
	json_stream_close(&json, ']');
	json_stream_close(&json, '}');
	json_stream_close(&json, ']');
	assert_string_equal(buffer_text(&out), "[\n  {\"x\":0.5,\"y\":null,\"z\":[\"w\",null]}\n]");
}

static void what_is_not_known_is_null(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct json_stream json = { .out = &out };
	json_stream_open(&json, NULL, '{', JSON_ONE_LINE);
	json_stream_known(&json, "a", false, 7);
	json_stream_known(&json, "b", true, 7);
	json_stream_bytes(&json, "c", (struct span){ NULL, 0 });
	json_stream_bytes(&json, "d", (struct span){ "\x0f\xa0", 2 });
	json_stream_hex(&json, "e", UINT64_MAX - 1);
	json_stream_end(&json, '}');
	assert_string_equal(buffer_text(&out), "{\"a\":null,\"b\":7,\"c\":null,\"d\":\"0fa0\","
					       "\"e\":\"0xfffffffffffffffe\"}\n");
}

static void in_markup_no_text_ends_the_element(void **state)
{
	(void)state;
	static const char text[] = "</script>&amp;]]>";
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct json_stream json = { .out = &out, .in_markup = true };
	json_stream_text(&json, NULL, text);
	assert_null(strpbrk(buffer_text(&out), "<>&"));
	struct json_object *back = json_tokener_parse(buffer_text(&out));
	assert_string_equal(json_object_get_string(back), text);
	json_object_put(back);
}

/* Members may be written before what stands above them is known. */
static void members_at_a_depth_fit_into_what_is_opened_later(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer whole = { 0 }, members = { 0 }, joined = { 0 };
	struct json_stream json = { .out = &whole }, below = { .out = &members, .depth = 2 };
	for (int early = 0; early < 2; early++) {
		struct json_stream *rows = early ? &below : &json;
		if (early)
			json = (struct json_stream){ .out = &joined };
		json_stream_open(&json, NULL, '{', JSON_LINES);
		json_stream_open(&json, "rows", '[', JSON_LINES);
		for (uint64_t i = 0; i < 2; i++) {
			json_stream_open(rows, NULL, '{', JSON_LINES);
			json_stream_u64(rows, "row", i);
			json_stream_close(rows, '}');
		}
		if (early)
			buffer_append(&joined, members.data, members.size);
		json_stream_close(&json, ']');
		json_stream_end(&json, '}');
	}
	assert_string_equal(buffer_text(&joined), buffer_text(&whole));
}

static void what_is_no_utf8_is_replaced(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct json_stream json = { .out = &out };
	json_stream_text(&json, NULL, "a\xff\xc3\xa9\xc3/\x01\v\x7f\"");
	assert_string_equal(buffer_text(&out), "\"a\\ufffdff\xc3\xa9\\ufffdc3/"
					       "\\u0001\\u000b\\u007f\\\"\"");
}

/* And json-c reads it as that text. */
static void assert_written(const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer ours = { 0 };
	struct json_stream json = { .out = &ours };
	json_stream_text(&json, NULL, text);
	assert_string_equal(buffer_text(&ours), wanted);
	struct json_object *back = json_tokener_parse(wanted);
	if (!strstr(wanted, "fffd"))
		assert_string_equal(json_object_get_string(back), text);
	json_object_put(back);
}

static void what_steers_a_terminal_is_escaped_and_reads_back(void **state)
{
	(void)state;
	assert_written("\033[2J\n\177", "\"\\u001b[2J\\n\\u007f\"");
	assert_written("\xc2\x9b", "\"\\u009b\"");		  /* a C1 control */
	assert_written("\xe2\x80\xae", "\"\\u202e\"");		  /* right to left */
	assert_written("\xe2\x80\xa8", "\"\\u2028\"");		  /* ends a line in JavaScript */
	assert_written("\xef\xbb\xbf", "\"\\ufeff\"");		  /* the mark of a start */
	assert_written("\xf3\xa0\x81\x81", "\"\\udb40\\udc41\""); /* a tag */
	assert_written("\xe2\x82\xac", "\"\xe2\x82\xac\"");
}

static void two_texts_that_differ_stay_two(void **state)
{
	(void)state;
	assert_written("a\xff", "\"a\\ufffdff\"");
	assert_written("a\xfe", "\"a\\ufffdfe\"");
	assert_written("a\xef\xbf\xbd"
		       "ff",
		       "\"a\\ufffdef\\ufffdbf\\ufffdbdff\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_read_as_those_of_json_c),
		cmocka_unit_test(a_flat_object_is_one_line),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(in_markup_no_text_ends_the_element),
		cmocka_unit_test(members_at_a_depth_fit_into_what_is_opened_later),
		cmocka_unit_test(what_is_no_utf8_is_replaced),
		cmocka_unit_test(what_steers_a_terminal_is_escaped_and_reads_back),
		cmocka_unit_test(two_texts_that_differ_stay_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
