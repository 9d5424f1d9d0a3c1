/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "base/buffer.h"
#include "render/quantity.h"
#include "render/text_table.h"

static void columns_line_up_and_no_line_ends_in_spaces(void **state)
{
	(void)state;
	static const enum text_align align[] = { TEXT_RIGHT, TEXT_LEFT, TEXT_LEFT };
	struct text_table table;
	text_table_init(&table, align, 3);
	text_table_add(&table, TEXT_PLAIN, "%s", "n");
	text_table_add(&table, TEXT_PLAIN, "%s", "\xc3\xa9t\xc3\xa9");
	text_table_add(&table, TEXT_PLAIN, "%s", "last");
	text_table_add(&table, TEXT_PLAIN, "%d", 12345);
	text_table_add(&table, TEXT_PLAIN, "%s", "longer");
	text_table_add(&table, TEXT_PLAIN, "%s", "");
	struct buffer out = { 0 };
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &out);
	assert_string_equal(buffer_text(&out), "    n  \xc3\xa9t\xc3\xa9     last\n"
					       "12345  longer\n");
	buffer_release(&out);
	text_table_release(&table);
}

static void a_long_text_in_a_narrow_column_takes_room_of_its_own_row(void **state)
{
	(void)state;
	static const enum text_align align[] = { TEXT_NARROW, TEXT_LEFT, TEXT_LEFT };
	struct text_table table;
	text_table_init(&table, align, 3);
	static const char *const cells[] = {
		"abcdefghijklmnopqrstuvwxyz", "1", "x", "b", "12345678", "y"
	};
	for (size_t i = 0; i < 6; i++)
		text_table_add(&table, TEXT_PLAIN, "%s", cells[i]);
	struct buffer out = { 0 };
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &out);
	assert_string_equal(buffer_text(&out), "abcdefghijklmnopqrstuvwxyz  1     x\n"
					       "b                       12345678  y\n");
	buffer_release(&out);
	text_table_release(&table);
}

static void styles_show_with_colour_only(void **state)
{
	(void)state;
	static const enum text_align align[] = { TEXT_RIGHT, TEXT_LEFT };
	struct text_table table;
	text_table_init(&table, align, 2);
	text_table_add(&table, TEXT_DIM, "%s", "1");
	text_table_add(&table, TEXT_PLAIN, "%s", "x");
	struct buffer out = { 0 };
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &out);
	text_table_print(&table, TEXT_WITH_COLOUR, &out);
	assert_string_equal(buffer_text(&out), "1  x\n\033[2m1\033[0m  x\n");
	buffer_release(&out);
	text_table_release(&table);
}

static void long_texts_stay_whole(void **state)
{
	(void)state;
	static const enum text_align align[] = { TEXT_LEFT };
	char text[2000];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	struct text_table table;
	text_table_init(&table, align, 1);
	text_table_add(&table, TEXT_PLAIN, "%s", text);
	struct buffer out = { 0 };
	text_table_print(&table, TEXT_WITHOUT_COLOUR, &out);
	assert_int_equal(out.size, sizeof(text));
	buffer_release(&out);
	text_table_release(&table);
}

static void assert_percent(double part, double whole, const char *wanted)
{
	char text[QUANTITY_SIZE];
	quantity_percent(part, whole, text);
	assert_string_equal(text, wanted);
}

static void almost_all_is_not_all_and_little_is_not_nothing(void **state)
{
	(void)state;
	assert_percent(0, 0, "-");
	assert_percent(0, 10, "0.00 %");
	assert_percent(1, 1000000, "<0.01 %");
	assert_percent(1, 8, "12.5 %");
	assert_percent(99.98, 100, "99.98 %");
	assert_percent(999999, 1000000, ">99.99 %");
	assert_percent(10, 10, "100 %");
}

static void a_column_has_one_unit_and_five_digits(void **state)
{
	(void)state;
	struct quantity_scale scale = quantity_scale_for(18.91e9, span_of_text("ns"));
	char text[QUANTITY_SIZE];
	assert_string_equal(scale.unit, "s");
	quantity_format(&scale, 18.91e9, text);
	assert_string_equal(text, "18.910");
	quantity_format(&scale, 7e6, text);
	assert_string_equal(text, "0.007");
	scale = quantity_scale_for(2.5e6, span_of_text("cycles"));
	quantity_format(&scale, 2.5e6, text);
	assert_string_equal(text, "2.5000");
	scale = quantity_scale_for(37, span_of_text("samples"));
	quantity_format(&scale, 37, text);
	assert_string_equal(text, "37");
	scale = quantity_scale_for(12.5, span_of_text("Joules"));
	quantity_format(&scale, 0.25, text);
	assert_string_equal(text, "0.250");
	quantity_describe(12.5, span_of_text("Joules"), text);
	assert_string_equal(text, "12.50");
	quantity_describe(12, span_of_text("Joules"), text);
	assert_string_equal(text, "12");
	quantity_describe(470.5, span_of_text("ns"), text);
	assert_string_equal(text, "470 ns");
	quantity_count(1234567, text);
	assert_string_equal(text, "1 234 567");
	quantity_count(1234, text);
	assert_string_equal(text, "1234");
	quantity_describe(999, span_of_text("ns"), text);
	assert_string_equal(text, "999 ns");
	quantity_bytes(654321, text);
	assert_string_equal(text, "654.3 kB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_line_up_and_no_line_ends_in_spaces),
		cmocka_unit_test(a_long_text_in_a_narrow_column_takes_room_of_its_own_row),
		cmocka_unit_test(styles_show_with_colour_only),
		cmocka_unit_test(long_texts_stay_whole),
		cmocka_unit_test(almost_all_is_not_all_and_little_is_not_nothing),
		cmocka_unit_test(a_column_has_one_unit_and_five_digits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
