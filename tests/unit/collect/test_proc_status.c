#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/proc_status.h"

#define REST                                                                                       \
	"Umask:\t0022\nState:\tZ "                                                                 \
	"(zombie)\nTgid:\t41\nNgid:\t0\nPid:\t41\nPPid:\t7\nTracerPid:\t0\n"

static void what_is_asked_for_is_read(void **state)
{
	(void)state;
	struct proc_status status;
	assert_true(proc_status_parse("Name:\tcat\n" REST, &status));
	assert_int_equal(status.pid, 41);
	assert_int_equal(status.parent, 7);
	assert_int_equal(status.state, 'Z');
	assert_int_equal(proc_status_read((uint32_t)getpid(), &status), 0);
	assert_int_equal(status.pid, getpid());
	assert_int_equal(status.parent, getppid());
	assert_int_equal(status.state, 'R');
}

/* The kernel writes a newline in it as two characters. */
static void a_name_is_taken_for_nothing_else(void **state)
{
	(void)state;
	struct proc_status status;
	assert_true(proc_status_parse("Name:\tPPid:\t3\\nPPid:\t4\n" REST, &status));
	assert_int_equal(status.parent, 7);
}

static void what_lacks_a_line_is_refused(void **state)
{
	(void)state;
	struct proc_status status;
	assert_false(proc_status_parse("", &status));
	assert_false(proc_status_parse("Name:\tcat\nState:\t", &status));
	assert_false(proc_status_parse("Name:\tcat\nState:\tR (running)\nPid:\t4\n", &status));
	assert_int_not_equal(proc_status_read(UINT32_MAX, &status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_is_read),
		cmocka_unit_test(a_name_is_taken_for_nothing_else),
		cmocka_unit_test(what_lacks_a_line_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
