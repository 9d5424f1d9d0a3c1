#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "profile/table.h"

/* ---- memory: one allocation in a run may fail (ld --wrap) */

static size_t allocations;
static size_t failing; /* the number of the one; 0: none */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return ++allocations == failing ? NULL : __real_malloc(size);
}

#define ROWS 100

static struct table *table_of_rows(void)
{
	static const struct column columns[] = { { "key", COLUMN_U64, RULE_KEY },
						 { "sum", COLUMN_U64, RULE_SUM } };
	struct table *table = table_new("test", columns, 2);
	assert_non_null(table);
	for (uint64_t i = 0; i < ROWS; i++)
		assert_int_equal(table_add(table, &i, &(uint64_t){ 1 }, NULL), 0);
	return table;
}

/* A new key column changes all hashes, so it takes a new index. */
static void rows_are_found_after_memory_ran_out_for_their_index(void **state)
{
	(void)state;
	static const struct column column = { "more", COLUMN_U64, RULE_KEY };
	size_t failures = 0;
	for (int ret = -ENOMEM; ret < 0; failures += ret < 0) {
		struct table *table = table_of_rows();
		allocations = 0;
		failing = failures + 1;
		ret = table_add_column(table, &column);
		failing = 0;
		assert_true(ret == 0 || ret == -ENOMEM);
		for (uint64_t i = 0; i < ROWS; i++) {
			uint32_t row = UINT32_MAX;
			assert_int_equal(
				table_add(table, (uint64_t[]){ i, 0 }, &(uint64_t){ 1 }, &row), 0);
			assert_int_equal(row, i);
			assert_int_equal(table_values(table, row)[0], 2);
		}
		assert_int_equal(table->count, ROWS);
		table_free(table);
	}
	assert_true(failures > 1); /* the index grows several times */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_after_memory_ran_out_for_their_index),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
