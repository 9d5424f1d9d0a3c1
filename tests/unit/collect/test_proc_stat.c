#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collect/proc_stat.h"

/* Of a thread group of 3 in nice 0, with a terminal's -1, as Linux 6.1 wrote it. */
#define NUMBERS                                                                                    \
	"17 4321 4321 34816 -1 4194304 8421 77 2 0 120 34 5600 789 20 0 3 0 123456 9 1 2 "         \
	"18446744073709551615"

static void every_field_is_read(void **state)
{
	(void)state;
	struct proc_stat stat;
	assert_true(proc_stat_parse(span_of_text("4321 (cat) S " NUMBERS "\n"), &stat));
	assert_int_equal(stat.pid, 4321);
	assert_int_equal(stat.name.size, 3);
	assert_memory_equal(stat.name.data, "cat", 3);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 17);
	assert_int_equal(stat.flags, 4194304);
	assert_int_equal(stat.user_ticks, 120);
	assert_int_equal(stat.system_ticks, 34);
	assert_int_equal(stat.children_user_ticks, 5600);
	assert_int_equal(stat.children_system_ticks, 789);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 123456);
}

static void a_name_may_look_like_the_rest(void **state)
{
	(void)state;
	struct proc_stat stat;
	assert_true(proc_stat_parse(span_of_text("5 (a) Z 1 (b) R " NUMBERS), &stat));
	assert_int_equal(stat.name.size, strlen("a) Z 1 (b"));
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.parent, 17);
	assert_true(proc_stat_parse(span_of_text("5 () Z " NUMBERS), &stat));
	assert_int_equal(stat.name.size, 0);
}

static void what_is_cut_off_is_refused(void **state)
{
	(void)state;
	const char *text = "4321 (cat) S 17 1 1 0 -1 4 1 0 0 0 120 34 56 78 20 0 3 0 7";
	struct proc_stat stat;
	for (size_t size = 0; size < strlen(text); size++)
		assert_false(proc_stat_parse((struct span){ text, size }, &stat));
	assert_true(proc_stat_parse(span_of_text(text), &stat));
	assert_false(proc_stat_parse(span_of_text(")4321 (cat S 17"), &stat));
	assert_false(proc_stat_parse(
		span_of_text("1 (a) S 99999999999999999999 1 1 0 1 4 1 0 0 0 1 3 5 7 2 0 3 0 7"),
		&stat));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_read),
		cmocka_unit_test(a_name_may_look_like_the_rest),
		cmocka_unit_test(what_is_cut_off_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
