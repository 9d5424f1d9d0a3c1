#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "machine/cpu_set.h"

static void cpu_lists_read_as_the_kernel_writes_them(void **state)
{
	(void)state;
	struct cpu_set set;
	struct error err;
	char text[64];
	assert_int_equal(cpu_set_parse("0-3,8,12-19:2/4\n", &set, &err), 0);
	cpu_set_format(&set, text, sizeof(text));
	assert_string_equal(text, "0-3,8,12-13,16-17");
	assert_int_equal(cpu_set_count(&set), 9);
	assert_int_equal(cpu_set_next(&set, 4), 8);
	assert_int_equal(cpu_set_next(&set, 18), CPU_SET_LIMIT);
	assert_int_equal(cpu_set_format(&set, text, 4), 17);
	assert_string_equal(text, "0-3");
	assert_int_equal(cpu_set_parse("", &set, &err), 0);
	assert_true(cpu_set_empty(&set));
	assert_int_equal(cpu_set_parse("3-1", &set, &err), -EINVAL);
	assert_string_equal(err.text,
			    "CPU list '3-1' does not read at character 4: it is written as "
			    "'0-3,8', with numbers below 8192");
	static const char *const wrong[] = { "8192",	"1-",	   "-1", "1,,2",
					     "0-7:1/0", "0-7:3/2", "a",	 "1;2" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(cpu_set_parse(wrong[i], &set, NULL), -EINVAL);
}

static void every_cut_of_a_list_is_read_or_refused(void **state)
{
	(void)state;
	static const char whole[] = "0-3,8,12-19:2/4";
	char text[sizeof(whole)];
	struct cpu_set set;
	for (size_t cut = 1; cut < sizeof(whole); cut++) {
		memcpy(text, whole, cut);
		text[cut] = 0;
		/* A refused list is the empty set, an accepted one is not. */
		int status = cpu_set_parse(text, &set, NULL);
		assert_int_equal(cpu_set_empty(&set), status != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists_read_as_the_kernel_writes_them),
		cmocka_unit_test(every_cut_of_a_list_is_read_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
