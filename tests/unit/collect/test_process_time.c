#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/process_time.h"

#define TICK_NS 10000000u

/* utime 70, stime 55, cutime 3, cstime 2, start 12345 */
#define REST                                                                                       \
	" S 1 2 3 0 -1 4194560 1 2 3 4 70 55 3 2 20 0 4 0 12345 1000 200 18446744073709551615 1\n"

static int parse(const char *text, enum process_time_of of, struct process_time *time)
{
	return process_time_parse(span_of_text(text), of, TICK_NS, time);
}

static void a_process_has_the_time_of_its_children(void **state)
{
	(void)state;
	struct process_time time;
	assert_int_equal(parse("123 (redis)" REST, PROCESS_TIME_PROCESS, &time), 0);
	assert_int_equal(time.user_ns, 730000000);
	assert_int_equal(time.system_ns, 570000000);
	assert_int_equal(time.start_ticks, 12345);
	assert_int_equal(parse("123 (redis)" REST, PROCESS_TIME_THREAD, &time), 0);
	assert_int_equal(time.user_ns, 700000000);
	assert_int_equal(time.system_ns, 550000000);
}

static void a_name_may_look_like_the_rest(void **state)
{
	(void)state;
	struct process_time time;
	assert_int_equal(parse("1 (a) S 9 9 (b)" REST, PROCESS_TIME_THREAD, &time), 0);
	assert_int_equal(time.user_ns, 700000000);
}

/* Cut within a number it is a smaller number, which the kernel does not do. */
static void what_is_cut_has_no_time(void **state)
{
	(void)state;
	static const char *const cut[] = { "",
					   "12",
					   "12 (name",
					   "12 (name)",
					   "12 (name) ",
					   "12 (name) S",
					   "12 (name) S 1 2 3 0 -1 4194560 1 2 3 4 7",
					   "12 (name) S 1 2 x" };
	struct process_time time;
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		assert_int_equal(parse(cut[i], PROCESS_TIME_PROCESS, &time), -EBADMSG);
	char longest[5000];
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(process_time_parse((struct span){ longest, sizeof(longest) },
					    PROCESS_TIME_PROCESS, TICK_NS, &time),
			 -EBADMSG);
}

static void our_own_time_can_be_read(void **state)
{
	(void)state;
	struct process_time process, thread;
	assert_int_equal(process_time_read(getpid(), PROCESS_TIME_PROCESS, &process), 0);
	assert_int_equal(process_time_read(getpid(), PROCESS_TIME_THREAD, &thread), 0);
	assert_int_equal(process.start_ticks, thread.start_ticks);
	assert_true(process.start_ticks > 0);
	assert_int_equal(process_time_read(1 << 30, PROCESS_TIME_PROCESS, &process), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_has_the_time_of_its_children),
		cmocka_unit_test(a_name_may_look_like_the_rest),
		cmocka_unit_test(what_is_cut_has_no_time),
		cmocka_unit_test(our_own_time_can_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
