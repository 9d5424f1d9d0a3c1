#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "unwind/frame_pool.h"
#include "unwind/frame_rules.h"

#define EVERY 7 /* bytes between the rows of made-up rules */

/* Rules with a row every few bytes from `first` on; each rule but the last ones is used once. */
static struct frame_rules make_rules(uint32_t first, size_t rows, size_t distinct)
{
	struct frame_rules rules = { .count = rows, .rule_count = distinct };
	rules.rows = calloc(rows, sizeof(*rules.rows));
	rules.rules = calloc(distinct, sizeof(*rules.rules));
	assert_true(rules.rows && rules.rules);
	for (size_t i = 0; i < distinct; i++)
		rules.rules[i] = frame_rule_of(FRAME_CFA_STACK, FRAME_POINTER_SAME, 0, 0,
					       (int32_t)i * 8 + 8);
	for (size_t i = 0; i < rows; i++)
		rules.rows[i] = (struct frame_row){ first + (uint32_t)i * EVERY,
						    (uint32_t)(i * 31 % distinct) };
	return rules;
}

static int add(struct frame_pool *pool, const struct frame_rules *rules,
	       struct frame_pool_entry *entry)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct frame_table table;
	assert_int_equal(frame_table_put(rules, EM_X86_64, &bytes), 0);
	assert_true(frame_table_read((struct span){ bytes.data, bytes.size }, &table));
	assert_int_equal(table.head.rows, rules->count);
	return frame_pool_add(pool, &table, entry);
}

static void expect_all(const struct frame_pool *pool, const struct frame_pool_entry *entry,
		       const struct frame_rules *rules)
{
	uint64_t first = rules->rows[0].offset;
	uint64_t last = rules->rows[rules->count - 1].offset;
	assert_int_equal(entry->machine, EM_X86_64);
	assert_true(frame_pool_has(pool, entry));
	for (uint64_t at = first; at <= last; at++)
		if (frame_pool_find(pool, &entry->place, at) != frame_rules_find(rules, at))
			fail_msg("another rule at %llu", (unsigned long long)at);
	if (first)
		assert_int_equal(frame_pool_find(pool, &entry->place, first - 1), FRAME_CFA_NONE);
	assert_int_equal(frame_pool_find(pool, &entry->place, last + (64 << 20)), FRAME_CFA_NONE);
	assert_int_equal(frame_pool_find(pool, &entry->place, UINT64_MAX), FRAME_CFA_NONE);
}

static void every_place_has_its_rule(void **state)
{
	/* few rules, more than a byte tells apart, and rows across pages that begin within one */
	static const struct {
		uint32_t first;
		size_t rows, distinct;
	} shapes[] = { { 0, 1, 1 },	     { 5, 3, 2 },
		       { 0x1fff0, 9, 9 },    { 0x2ff00, 30000, 40 },
		       { 300, 20000, 2000 }, { 0x10000, 70000, 255 } };
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		CLEANUP(frame_rules_release)
		struct frame_rules rules =
			make_rules(shapes[i].first, shapes[i].rows, shapes[i].distinct);
		struct frame_pool pool;
		struct frame_pool_entry entry;
		frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 8 });
		assert_int_equal(add(&pool, &rules, &entry), 0);
		expect_all(&pool, &entry, &rules);
		frame_pool_release(&pool);
	}
}

static void the_oldest_give_way(void **state)
{
	enum { FILES = 40 };
	struct frame_pool pool;
	struct frame_pool_entry entries[FILES];
	CLEANUP(frame_rules_release) struct frame_rules rules = make_rules(0, 80000, 600);
	(void)state;
	frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 4 });
	for (size_t i = 0; i < FILES; i++) {
		assert_int_equal(add(&pool, &rules, &entries[i]), 0);
		expect_all(&pool, &entries[i], &rules);
	}
	assert_true(pool.evictions > 0);
	assert_int_equal(frame_pool_bytes(&pool), 4 << 20);
	/* those that are there are the last ones, and right */
	size_t there = 0;
	for (size_t i = 0; i < FILES; i++) {
		bool has = frame_pool_has(&pool, &entries[i]);
		assert_true(has || !there);
		there += has;
		if (has)
			expect_all(&pool, &entries[i], &rules);
	}
	assert_in_range(there, 4, FILES - 1);
	frame_pool_release(&pool);
}

static void what_is_too_large_is_refused(void **state)
{
	struct frame_pool pool;
	struct frame_pool_entry entry;
	CLEANUP(frame_rules_release) struct frame_rules rules = make_rules(0, 600000, 10);
	(void)state;
	frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 2 });
	assert_int_equal(add(&pool, &rules, &entry), -E2BIG);
	frame_pool_release(&pool);
}

/* Two rows, 4 GB from one another: each page between them has the first one's rule. */
static void rules_that_hold_over_gigabytes_are_refused(void **state)
{
	CLEANUP(frame_rules_release) struct frame_rules far = make_rules(0, 2, 2);
	CLEANUP(frame_rules_release) struct frame_rules near = make_rules(0, 2, 2);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(buffer_release) struct buffer others = { 0 };
	(void)state;
	far.rows[1].offset = 0xfffe0000;
	near.rows[1].offset = 0x10000000;
	assert_int_equal(frame_table_put(&far, EM_X86_64, &bytes), -E2BIG);
	assert_true(bytes.size < (1 << 20));
	assert_int_equal(frame_table_put(&near, EM_X86_64, &others), 0);
}

static void tables_that_contradict_themselves_are_refused(void **state)
{
	CLEANUP(frame_rules_release) struct frame_rules rules = make_rules(100, 1000, 300);
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct frame_table table;
	(void)state;
	assert_int_equal(frame_table_put(&rules, EM_X86_64, &bytes), 0);
	for (size_t size = 0; size < bytes.size; size += 1 + size / 50)
		assert_false(frame_table_read((struct span){ bytes.data, size }, &table));
	uint32_t *words = (uint32_t *)bytes.data;
	for (size_t i = 0; i < 5; i++) {
		uint32_t before = words[i];
		if (i == 1) /* the machine, which is the reader's business */
			continue;
		words[i] = before ^ 0x40000000;
		assert_false(frame_table_read((struct span){ bytes.data, bytes.size }, &table));
		words[i] = before;
	}
	assert_true(frame_table_read((struct span){ bytes.data, bytes.size }, &table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_has_its_rule),
		cmocka_unit_test(the_oldest_give_way),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(rules_that_hold_over_gigabytes_are_refused),
		cmocka_unit_test(tables_that_contradict_themselves_are_refused),
	};
	return cmocka_run_group_tests_name("frame pool", tests, NULL, NULL);
}
