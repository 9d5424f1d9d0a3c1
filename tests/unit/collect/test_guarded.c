#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "collect/guarded.h"

static void exec_as(struct process_table *table, uint32_t pid, const char *name)
{
	assert_int_equal(process_comm(table, pid, pid, span_of_text(name), true, 1000), 0);
}

static void an_end_before_anything_is_mapped_is_none(void **state)
{
	(void)state;
	struct process_table table = { 0 };
	struct mapping mapping = { .start = 4096, .end = 8192 };
	exec_as(&table, 7, "sudo");
	assert_true(guarded_is_exec(process_find(&table, 7), 7));
	assert_int_equal(process_map(&table, 7, &mapping), 0);
	assert_false(guarded_is_exec(process_find(&table, 7), 7));
	exec_as(&table, 7, "sudo");
	assert_true(guarded_is_exec(process_find(&table, 7), 7));
	assert_int_equal(process_exit(&table, 7, 7, 2000), 0);
	assert_false(guarded_is_exec(process_find(&table, 7), 7)); /* the real one comes after it */
	process_table_release(&table);
}

static void the_end_of_others_is_one(void **state)
{
	(void)state;
	struct process_table table = { 0 };
	assert_false(guarded_is_exec(NULL, 7));
	assert_int_equal(process_fork(&table, 7, 7, 1, 1, 500), 0);
	assert_false(guarded_is_exec(process_find(&table, 7), 7)); /* never executed anything */
	exec_as(&table, 7, "sh");
	assert_false(guarded_is_exec(process_find(&table, 7), 8)); /* a thread */
	process_table_release(&table);
}

static void each_program_is_named_once_and_not_too_many(void **state)
{
	(void)state;
	struct guarded guarded = { 0 };
	char text[1024] = "before";
	guarded_describe(&guarded, GUARDED_BE_ROOT, text, sizeof(text));
	assert_string_equal(text, "");
	struct process process = { .comm = "sudo" };
	guarded_add(&guarded, &process);
	guarded_add(&guarded, &process);
	guarded_describe(&guarded, GUARDED_BE_ROOT, text, sizeof(text));
	assert_string_equal(text, "the kernel does not let you sample setuid programs, nor those "
				  "that have capabilities or may not be read: 'sudo' and what they "
				  "start have no samples; run culprit as root to have them");
	for (int i = 0; i < 100; i++) {
		snprintf(process.comm, sizeof(process.comm), "a-long-name-%03d", i);
		guarded_add(&guarded, &process);
	}
	assert_int_equal(guarded.execs, 102);
	guarded_describe(&guarded, GUARDED_WHOLE_MACHINE, text, sizeof(text));
	assert_non_null(strstr(text, "'sudo', 'a-long-name-000', "));
	assert_non_null(strstr(text, "'a-long-name-006' and others, and what they start"));
	assert_non_null(strstr(text, "(--all-cpus)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_before_anything_is_mapped_is_none),
		cmocka_unit_test(the_end_of_others_is_one),
		cmocka_unit_test(each_program_is_named_once_and_not_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
