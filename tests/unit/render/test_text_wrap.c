/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/text_wrap.h"

static void expect(size_t indent, const char *text, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	text_append_wrapped(indent, text, &out);
	assert_false(buffer_failed(&out));
	assert_string_equal(buffer_text(&out), wanted);
}

#define TEN    "123456789 "
#define NINETY TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void a_line_is_filled_to_its_last_column(void **state)
{
	(void)state;
	expect(0, NINETY "1234567890", NINETY "1234567890\n");
	expect(0, NINETY "1234567890 more", NINETY "1234567890\nmore\n");
	expect(0, NINETY "12345678901 more",
	       TEN TEN TEN TEN TEN TEN TEN TEN "123456789\n12345678901 more\n");
}

static void further_lines_begin_under_the_first(void **state)
{
	(void)state;
	expect(10, NINETY "tail", TEN TEN TEN TEN TEN TEN TEN TEN "123456789\n          tail\n");
	expect(10, TEN TEN TEN TEN TEN TEN TEN TEN "1234567890 tail",
	       TEN TEN TEN TEN TEN TEN TEN TEN "1234567890\n          tail\n");
}

static void a_word_that_fits_no_line_stays_whole(void **state)
{
	(void)state;
	char word[152], wanted[256];
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	expect(0, word, strcat(strcpy(wanted, word), "\n"));
	char text[256] = "before ";
	strcat(strcat(text, word), " after");
	strcat(strcat(strcpy(wanted, "before\n    "), word), "\n    after\n");
	expect(4, text, wanted);
}

static void blanks_of_any_kind_are_one_space(void **state)
{
	(void)state;
	expect(0, "one  two\n\tthree ", "one two three\n");
	expect(8, " ", "\n");
	expect(8, "", "\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_filled_to_its_last_column),
		cmocka_unit_test(further_lines_begin_under_the_first),
		cmocka_unit_test(a_word_that_fits_no_line_stays_whole),
		cmocka_unit_test(blanks_of_any_kind_are_one_space),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
