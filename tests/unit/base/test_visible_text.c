#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "base/utf8.h"
#include "base/visible_text.h"

static void assert_safe(const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 }, again = { 0 };
	text_append_safe(&out, text, strlen(text));
	assert_string_equal(buffer_text(&out), wanted);
	text_append_safe(&again, buffer_text(&out), out.size);
	assert_string_equal(buffer_text(&again), wanted); /* safe text stays */
}

static void what_a_terminal_obeys_is_escaped(void **state)
{
	(void)state;
	assert_safe("plain \xe2\x82\xac \xf0\x9f\x98\x80", "plain \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_safe("\033[2J\n\t\177", "\\x1b[2J\\x0a\\x09\\x7f");
	assert_safe("\xc2\x9b", "\\xc2\\x9b");			 /* a C1 control */
	assert_safe("\x9b", "\\x9b");				 /* the same on 8 bits */
	assert_safe("\xc0\xaf", "\\xc0\\xaf");			 /* too long */
	assert_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");		 /* a surrogate */
	assert_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* past U+10FFFF */
	assert_safe("cut\xe2\x82", "cut\\xe2\\x82");
}

static void assert_hidden(uint32_t character)
{
	uint8_t bytes[UTF8_MAX_BYTES];
	char wanted[4 * UTF8_MAX_BYTES + 2] = "a";
	size_t size = utf8_put(bytes, character);
	CLEANUP(buffer_release) struct buffer text = { 0 };
	buffer_append_u8(&text, 'a');
	buffer_append(&text, bytes, size);
	for (size_t i = 0; i < size; i++)
		snprintf(wanted + 1 + 4 * i, 5, "\\x%02x", bytes[i]);
	assert_safe(buffer_text(&text), wanted);
}

static void what_hides_or_turns_is_escaped(void **state)
{
	(void)state;
	static const uint32_t ranges[][2] = {
		{ 1, 0x1f },	      { 0x7f, 0x9f },	      { 0xad, 0xad },
		{ 0x61c, 0x61c },     { 0x180e, 0x180e },     { 0x200b, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f },     { 0x3164, 0x3164 },
		{ 0xfdd0, 0xfdef },   { 0xfeff, 0xfeff },     { 0xfff0, 0xfffb },
		{ 0xfffe, 0xffff },   { 0x1fffe, 0x1ffff },   { 0x110bd, 0x110bd },
		{ 0xe0000, 0xe0fff }, { 0x10fffe, 0x10ffff },
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		for (uint32_t c = ranges[i][0]; c <= ranges[i][1]; c++)
			assert_hidden(c);
}

static void what_people_write_is_shown(void **state)
{
	(void)state;
	static const uint32_t ranges[][2] = {
		{ 0x20, 0x7e },	    { 0xa1, 0xac },	{ 0xae, 0x2ff },      { 0x391, 0x3a1 },
		{ 0x400, 0x482 },   { 0x5d0, 0x5ea },	{ 0x3041, 0x3096 },   { 0x4e00, 0x9fff },
		{ 0xac00, 0xd7a3 }, { 0xe000, 0xf8ff }, { 0x1f600, 0x1f64f }, { 0x20000, 0x2a6df },
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		for (uint32_t c = ranges[i][0]; c <= ranges[i][1]; c++) {
			char text[UTF8_MAX_BYTES + 1] = "";
			utf8_put((uint8_t *)text, c);
			assert_safe(text, text);
		}
	}
}

static void marks_do_not_pile_up_nor_touch_what_is_before(void **state)
{
	(void)state;
	assert_safe("e\xcc\x81", "e\xcc\x81");
	assert_safe("o\xcc\x80\xcc\x81\xcc\x82\xcc\x83\xcc\x84z\xcc\x80",
		    "o\xcc\x80\xcc\x81\xcc\x82\xcc\x83\\xcc\\x84z\xcc\x80");
	assert_safe("\xcc\x81", "\\xcc\\x81");
	assert_safe("\n\xcc\x81", "\\x0a\\xcc\\x81");
}

/* Dense in what matters. */
static void any_bytes_become_text_that_stays(void **state)
{
	(void)state;
	static const uint8_t letters[] = { 'a',	 ' ',  0x1b, '\n', 0x7f, 0x80, 0x9b,
					   0xc2, 0xcc, 0x81, 0xe2, 0xe1, 0xad, 0xef,
					   0xbb, 0xbf, 0xf3, 0xa0, 0xff, 0 };
	struct random_state random = random_seed(7);
	for (int round = 0; round < 50000; round++) {
		char text[24];
		CLEANUP(buffer_release) struct buffer once = { 0 }, twice = { 0 };
		size_t size = random_below(&random, sizeof(text));
		for (size_t i = 0; i < size; i++)
			text[i] = (char)letters[random_below(&random, sizeof(letters))];
		text_append_safe(&once, text, size);
		text_append_safe(&twice, (const char *)once.data, once.size);
		assert_string_equal(buffer_text(&twice), buffer_text(&once));
		for (size_t i = 0; i < once.size;) {
			size_t length = utf8_sequence(once.data + i, once.size - i);
			assert_int_not_equal(length, 0);
			assert_int_not_equal(character_kind(utf8_character(once.data + i, length)),
					     CHARACTER_HIDDEN);
			i += length;
		}
	}
}

static void columns_are_counted_as_terminals_do(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc3\xa9t\xc3\xa9"), 3);
	assert_int_equal(text_width("e\xcc\x81"), 1);
	assert_int_equal(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);		 /* two of two */
	assert_int_equal(text_width("\xf0\x9f\x98\x80"), 2);			 /* a face */
	assert_int_equal(text_width("\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab"), 2); /* one, of parts */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_terminal_obeys_is_escaped),
		cmocka_unit_test(what_hides_or_turns_is_escaped),
		cmocka_unit_test(what_people_write_is_shown),
		cmocka_unit_test(marks_do_not_pile_up_nor_touch_what_is_before),
		cmocka_unit_test(any_bytes_become_text_that_stays),
		cmocka_unit_test(columns_are_counted_as_terminals_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
