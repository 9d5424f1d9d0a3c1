/* What is known of files' unwind rules, with doubles of the helper that reads the files and of the
 * walker in the kernel (linked in their place by --wrap): no rights are needed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "collect/file_learn.h"
#include "collect/frame_tables.h"
#include "unwind/frame_rules.h"
#include "unwind/frame_table.h"

#define FILE_NUMBER 3u

/* What reading the file ends with next, and what the walker was told last. */
static int answer;
static struct buffer table_bytes;
static unsigned reads, forgotten;
static enum { NOTHING, NO_RULES, RULES, POSTPONED } told;

int __wrap_file_learn_frames(struct file_table *files, uint32_t number, struct buffer *out);
int __wrap_file_learn_frames(struct file_table *files, uint32_t number, struct buffer *out)
{
	(void)files;
	assert_int_equal(number, FILE_NUMBER);
	reads++;
	buffer_append(out, table_bytes.data, table_bytes.size);
	return answer;
}

int __wrap_user_stack_put(struct user_stack *stack, const struct user_stack_key *key,
			  const struct frame_table_place *place);
int __wrap_user_stack_put(struct user_stack *stack, const struct user_stack_key *key,
			  const struct frame_table_place *place)
{
	(void)stack;
	(void)key;
	told = place ? RULES : NO_RULES;
	return 0;
}

int __wrap_user_stack_postpone(struct user_stack *stack, const struct user_stack_key *key);
int __wrap_user_stack_postpone(struct user_stack *stack, const struct user_stack_key *key)
{
	(void)stack;
	(void)key;
	told = POSTPONED;
	return 0;
}

void __wrap_user_stack_forget(struct user_stack *stack, const struct user_stack_key *key);
void __wrap_user_stack_forget(struct user_stack *stack, const struct user_stack_key *key)
{
	(void)stack;
	(void)key;
	forgotten++;
	told = NOTHING;
}

static const struct user_stack_key key = { .inode = 7 };

static void begin(struct frame_tables *tables)
{
	static int walker; /* nobody looks into it */
	frame_tables_init(tables, NULL, (struct user_stack *)&walker);
	reads = forgotten = 0;
	told = NOTHING;
}

static void a_file_that_was_refused_is_postponed_and_asked_for_again(void **state)
{
	struct frame_tables tables;
	(void)state;
	begin(&tables);
	answer = -EDQUOT;
	assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(told, POSTPONED);
	assert_int_equal(reads, 1);
	/* not before its time */
	frame_tables_retry(&tables);
	assert_int_equal(told, POSTPONED);
	assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(told, POSTPONED);
	assert_int_equal(reads, 1);
	/* when that has come, the walker asks anew; and so on */
	for (unsigned round = 1; round < 4; round++) {
		tables.retry_ns = tables.list[FILE_NUMBER].retry_ns = 1;
		frame_tables_retry(&tables);
		assert_int_equal(told, NOTHING);
		answer = round < 3 ? -EDQUOT : -ENOENT;
		assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
		assert_int_equal(told, round < 3 ? POSTPONED : NO_RULES);
		assert_int_equal(reads, 1 + round);
	}
	/* what is known stays */
	tables.retry_ns = tables.list[FILE_NUMBER].retry_ns = 1;
	frame_tables_retry(&tables);
	assert_int_equal(told, NO_RULES);
	frame_tables_release(&tables);
}

static void the_first_that_may_be_tried_again_is_not_kept_waiting(void **state)
{
	struct frame_tables tables;
	(void)state;
	begin(&tables);
	answer = -ETIMEDOUT;
	assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
	uint64_t first_ns = tables.list[FILE_NUMBER].retry_ns;
	assert_int_equal(tables.retry_ns, first_ns);
	/* it is looked at too early, and keeps its time */
	tables.retry_ns = 1;
	frame_tables_retry(&tables);
	assert_int_equal(told, POSTPONED);
	assert_int_equal(tables.retry_ns, first_ns);
	frame_tables_release(&tables);
}

static void rules_that_are_too_large_count_and_are_none(void **state)
{
	struct frame_tables tables;
	(void)state;
	begin(&tables);
	answer = -E2BIG;
	assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(told, NO_RULES);
	assert_int_equal(tables.refused, 1);
	assert_int_equal(frame_tables_tell(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(tables.refused, 1);
	assert_int_equal(reads, 1);
	frame_tables_release(&tables);
}

static const frame_rule rule_of_all = FRAME_CFA_END;

/* What was made before anybody asked is told where the file is mapped, and not read again. */
static void a_table_that_is_made_already_is_told(void **state)
{
	struct frame_tables tables;
	struct frame_row row = { 0, 0 };
	frame_rule rule = rule_of_all;
	const struct frame_rules rules = { &row, 1, &rule, 1, 0 };
	(void)state;
	begin(&tables);
	tables.walker = NULL; /* the pool has memory of its own */
	frame_tables_init(&tables, NULL, NULL);
	assert_int_equal(frame_table_put(&rules, WALK_MACHINE, &table_bytes), 0);
	answer = 0;
	assert_int_equal(frame_tables_make(&tables, FILE_NUMBER), 0);
	assert_int_equal(tables.list[FILE_NUMBER].state, FRAME_TABLES_THERE);
	static int walker;
	tables.walker = (struct user_stack *)&walker;
	assert_int_equal(frame_tables_prepare(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(told, RULES);
	told = NOTHING;
	assert_int_equal(frame_tables_prepare(&tables, FILE_NUMBER, &key), 0);
	assert_int_equal(told, NOTHING); /* it is told already */
	assert_int_equal(reads, 1);
	buffer_release(&table_bytes);
	frame_tables_release(&tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_was_refused_is_postponed_and_asked_for_again),
		cmocka_unit_test(the_first_that_may_be_tried_again_is_not_kept_waiting),
		cmocka_unit_test(rules_that_are_too_large_count_and_are_none),
		cmocka_unit_test(a_table_that_is_made_already_is_told),
	};
	return cmocka_run_group_tests_name("frame tables", tests, NULL, NULL);
}
