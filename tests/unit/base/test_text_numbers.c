#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text_numbers.h"

static uint32_t number_of(struct text_numbers *numbers, const char *text)
{
	uint32_t number;
	assert_int_equal(text_number(numbers, text, &number), 0);
	return number;
}

static void test_equal_texts_have_one_number_wherever_they_lie(void **state)
{
	(void)state;
	struct text_numbers numbers = { 0 };
	char long_text[200], again[200], other[200];
	memset(long_text, 'a', sizeof(long_text));
	long_text[199] = 0;
	memcpy(again, long_text, sizeof(again));
	memcpy(other, long_text, sizeof(other));
	other[198] = 'b';
	char short_text[] = "a";
	uint32_t one = number_of(&numbers, long_text), two = number_of(&numbers, "a");
	assert_int_not_equal(one, two);
	assert_int_equal(number_of(&numbers, again), one);
	assert_int_equal(number_of(&numbers, long_text), one);
	assert_int_equal(number_of(&numbers, short_text), two);
	assert_int_not_equal(number_of(&numbers, other), one);
	assert_int_not_equal(number_of(&numbers, ""), two);
	assert_int_equal(numbers.count, 4);
	text_numbers_release(&numbers);
}

/* Were it gone through again, it would be another text by then. */
static void test_long_text_is_looked_at_once(void **state)
{
	(void)state;
	struct text_numbers numbers = { 0 };
	char text[200];
	memset(text, 'a', sizeof(text));
	text[199] = 0;
	uint32_t before = number_of(&numbers, text);
	text[150] = 'b';
	assert_int_equal(number_of(&numbers, text), before);
	text_numbers_release(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_have_one_number_wherever_they_lie),
		cmocka_unit_test(test_long_text_is_looked_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
