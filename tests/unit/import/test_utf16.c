#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "import/reading/utf16.h"

/* Converted in pieces of every size. */
static void expect(enum utf16_order order, const char *text, size_t size, const char *wanted,
		   bool whole)
{
	for (size_t piece = 1; piece <= size; piece++) {
		struct utf16 state = { .order = order };
		uint8_t out[UTF16_ROOM(64) * 64];
		size_t used = 0;
		for (size_t at = 0; at < size; at += piece) {
			size_t part = size - at < piece ? size - at : piece;
			size_t made = utf16_convert(&state, text + at, part, out + used);
			assert_true(made <= UTF16_ROOM(part));
			used += made;
		}
		assert_int_equal(used, strlen(wanted));
		assert_memory_equal(out, wanted, used);
		assert_int_equal(utf16_ended(&state), whole);
	}
}

static void all_planes_in_both_orders(void **state)
{
	(void)state;
	expect(UTF16_BIG, "\0a\0\xe9\x20\xac\xd8\x3d\xde\x00", 10,
	       "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", true);
	expect(UTF16_LITTLE, "a\0\xe9\0\xac\x20\x3d\xd8\x00\xde", 10,
	       "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", true);
	expect(UTF16_BIG, "\xfe\xff\0a", 4,
	       "\xef\xbb\xbf"
	       "a",
	       true);
}

static void halves_alone_are_replaced(void **state)
{
	(void)state;
	expect(UTF16_BIG, "\xd8\x3d\0a\xde\x00", 6,
	       "\xef\xbf\xbd"
	       "a"
	       "\xef\xbf\xbd",
	       true);
	expect(UTF16_BIG, "\xd8\x3d\xd8\x3d\xde\x00", 6,
	       "\xef\xbf\xbd"
	       "\xf0\x9f\x98\x80",
	       true);
	expect(UTF16_BIG, "\0a\xd8\x3d", 4, "a", false);
	expect(UTF16_BIG, "\0a\0", 3, "a", false);
}

static void told_by_mark_or_zeros(void **state)
{
	(void)state;
	assert_int_equal(utf16_order_of("\xff\xfe"
					"a\0",
					4),
			 UTF16_LITTLE);
	assert_int_equal(utf16_order_of("\xfe\xff\0a", 4), UTF16_BIG);
	assert_int_equal(utf16_order_of("a\0;\0b\0 \0001\0\n\0", 12), UTF16_LITTLE);
	assert_int_equal(utf16_order_of("\0a\0;\0b\0 \0001\0\n", 12), UTF16_BIG);
	assert_int_equal(utf16_order_of("a\0;\0b\0", 6), UTF16_NONE); /* too little to be sure */
	assert_int_equal(utf16_order_of("\0\0\0\0\0\0\0\0", 8), UTF16_NONE);
	assert_int_equal(utf16_order_of("a;b 1\na;b 1\n", 12), UTF16_NONE);
	assert_int_equal(utf16_order_of("\1\0\2\0\3\0\4\0", 8), UTF16_NONE);
	assert_int_equal(utf16_order_of("", 0), UTF16_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_planes_in_both_orders),
		cmocka_unit_test(halves_alone_are_replaced),
		cmocka_unit_test(told_by_mark_or_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
