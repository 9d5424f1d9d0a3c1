#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/random.h"
#include "image/address_space.h"

static void add(struct address_space **space, uint64_t start, uint64_t end, uint32_t file)
{
	struct mapping mapping = { start, end, 0x1000 * file, file };
	assert_int_equal(address_space_add(space, &mapping), 0);
}

static uint32_t file_at(const struct address_space *space, uint64_t address)
{
	const struct mapping *mapping = address_space_find(space, address);
	return mapping ? mapping->file : 0;
}

static void a_new_mapping_takes_the_place_of_what_it_overlaps(void **state)
{
	(void)state;
	struct address_space *space = address_space_new();
	add(&space, 100, 200, 1);
	add(&space, 200, 300, 2);
	add(&space, 150, 250, 3);
	assert_int_equal(space->count, 3);
	assert_int_equal(file_at(space, 149), 1);
	assert_int_equal(file_at(space, 150), 3);
	assert_int_equal(file_at(space, 249), 3);
	assert_int_equal(file_at(space, 250), 2);
	assert_int_equal(address_space_find(space, 250)->offset, 0x2000 + 50);
	assert_int_equal(file_at(space, 300), 0);
	assert_int_equal(file_at(space, 99), 0);
	add(&space, 160, 170, 4); /* splits */
	assert_int_equal(space->count, 5);
	assert_int_equal(file_at(space, 170), 3);
	assert_int_equal(address_space_find(space, 175)->offset, 0x3000 + 20);
	add(&space, 0, 1000, 5);
	assert_int_equal(space->count, 1);
	add(&space, 10, 10, 6); /* empty */
	assert_int_equal(space->count, 1);
	address_space_drop(space);
}

/* A recording of data mappings has one for each piece of a heap, mapped and unmapped for ever. */
static void what_goes_on_beside_a_mapping_becomes_one_with_it(void **state)
{
	(void)state;
	struct address_space *space = address_space_new();
	struct address_space *kept = address_space_share(space);
	const struct mapping heap[] = {
		{ 0x1000, 0x2000, 0x1000, 1 }, { 0x3000, 0x4000, 0x3000, 1 },
		{ 0x2000, 0x3000, 0x2000, 1 }, /* fills the gap */
		{ 0x1800, 0x3800, 0x1800, 1 }, /* is there */
		{ 0x3800, 0x5000, 0x3800, 1 }, /* is there in part */
	};
	for (size_t i = 0; i < sizeof(heap) / sizeof(heap[0]); i++)
		assert_int_equal(address_space_add(&space, &heap[i]), 0);
	assert_int_equal(kept->count, 0);
	assert_int_equal(space->count, 1);
	assert_int_equal(address_space_find(space, 0x4fff)->start, 0x1000);
	assert_null(address_space_find(space, 0x5000));

	struct address_space *same = address_space_share(space);
	assert_int_equal(address_space_add(&same, &heap[0]), 0);
	assert_ptr_equal(same, space); /* not copied */

	const struct mapping elsewhere = { 0x5000, 0x6000, 0x5001, 1 };
	const struct mapping other = { 0x6000, 0x7000, 0x6000, 2 };
	assert_int_equal(address_space_add(&same, &elsewhere), 0);
	assert_int_equal(address_space_add(&same, &other), 0);
	assert_int_equal(same->count, 3);
	address_space_drop(same);
	address_space_drop(space);
	address_space_drop(kept);
}

static void a_shared_space_is_copied_by_who_changes_it(void **state)
{
	(void)state;
	struct address_space *parent = address_space_new();
	add(&parent, 100, 200, 1);
	struct address_space *child = address_space_share(parent);
	add(&child, 300, 400, 2);
	assert_ptr_not_equal(child, parent);
	assert_int_equal(file_at(parent, 300), 0);
	assert_int_equal(file_at(child, 300), 2);
	assert_int_equal(file_at(child, 100), 1);
	address_space_drop(parent);
	address_space_drop(child);
}

/* ---- many mappings, which lie in many blocks */

#define MANY 10000u

/* Block by block: does one of the spaces have what the other has not? Counts those of `space`. */
static size_t own_blocks(const struct address_space *space, const struct address_space *other)
{
	size_t own = 0;
	for (size_t i = 0; i < space->block_count; i++) {
		bool shared = false;
		for (size_t k = 0; k < other->block_count; k++)
			shared |= space->blocks[i].list == other->blocks[k].list;
		own += !shared;
	}
	return own;
}

static void a_child_shares_what_it_does_not_change(void **state)
{
	(void)state;
	struct address_space *parent = address_space_new();
	for (uint64_t i = MANY; i-- > 0;) /* from high to low, as the kernel maps */
		add(&parent, 100 * i, 100 * i + 50, 1 + (uint32_t)i);
	assert_int_equal(parent->count, MANY);
	assert_in_range(parent->block_count, 2, MANY / 100);
	for (uint64_t i = 0; i < MANY; i += 99) {
		struct address_space *child = address_space_share(parent);
		add(&child, 100 * i + 50, 100 * i + 60, 7);
		add(&child, 100 * i + 10, 100 * i + 20, 8);
		assert_int_equal(child->count, MANY + 3);
		assert_in_range(own_blocks(child, parent), 1, 3);
		assert_int_equal(file_at(child, 100 * i + 55), 7);
		assert_int_equal(file_at(child, 100 * i + 15), 8);
		assert_int_equal(file_at(child, 100 * i + 25), 1 + i);
		assert_int_equal(file_at(parent, 100 * i + 15), 1 + i);
		assert_int_equal(file_at(parent, 100 * i + 55), 0);
		address_space_drop(child);
	}
	assert_int_equal(parent->count, MANY);
	/* over all of them: nothing is left to share */
	struct address_space *child = address_space_share(parent);
	add(&child, 10, 100 * MANY, 9);
	assert_int_equal(child->count, 2);
	assert_int_equal(child->block_count, 1);
	assert_int_equal(address_space_end(child), 100 * MANY);
	assert_int_equal(address_space_end(parent), 100 * MANY - 50);
	address_space_drop(parent);
	assert_int_equal(file_at(child, 5), 1);
	assert_int_equal(file_at(child, 99), 9);
	address_space_drop(child);
}

static void past_the_limit_nothing_is_added(void **state)
{
	(void)state;
	struct address_space *space = address_space_new();
	assert_int_equal(address_space_end(space), 0);
	for (uint64_t i = 0; i < ADDRESS_SPACE_LIMIT; i++)
		add(&space, 10 * i, 10 * i + 5, 1);
	struct mapping mapping = { 7, 8, 0, 2 };
	assert_int_equal(address_space_add(&space, &mapping), -E2BIG);
	assert_int_equal(space->count, ADDRESS_SPACE_LIMIT);
	assert_int_equal(file_at(space, 7), 0);
	size_t walked = 0;
	struct mapping_place place = { 0 };
	for (const struct mapping *next; (next = address_space_next(space, &place)); walked++)
		assert_int_equal(next->start, 10 * walked);
	assert_int_equal(walked, ADDRESS_SPACE_LIMIT);
	assert_null(address_space_next(space, &place));
	address_space_drop(space);
}

/* ---- random ones */

/* In order, as many as are counted, in blocks of which few are small; those of file 2 are joined.
 */
static void expect_order(const struct address_space *space)
{
	struct mapping_place place = { 0 };
	const struct mapping *left = address_space_next(space, &place), *right;
	size_t count = left != NULL;
	for (; (right = address_space_next(space, &place)); left = right, count++) {
		assert_true(left->end <= right->start);
		assert_false(left->end == right->start && left->file == 2 && right->file == 2);
	}
	assert_int_equal(count, space->count);
	for (size_t i = 0; i < space->block_count; i++) {
		const struct mapping_block *block = &space->blocks[i];
		assert_int_equal(block->end, block->list[block->count - 1].end);
		assert_in_range(block->count, 1, 256);
		if (i > 0)
			assert_true(block->count + block[-1].count > 128);
	}
}

static void expect_truth(const struct address_space *space, const struct mapping *truth,
			 uint64_t addresses, uint64_t step)
{
	for (uint64_t at = 0; at < addresses; at += step) {
		const struct mapping *found = address_space_find(space, at);
		assert_int_equal(found ? found->file : 0, truth[at].file);
		if (found)
			assert_int_equal(found->offset + at - found->start, truth[at].offset);
	}
}

#define ADDRESSES 4000u
#define KEPT	  8u

/* Mappings of up to `longest` addresses; every so often one that is much longer. Spaces that are
 * shared meanwhile stay as they were. */
static void compare_with_a_plain_array(uint64_t addresses, uint64_t longest, uint32_t rounds,
				       uint64_t seed)
{
	struct random_state random = random_seed(seed);
	struct address_space *space = address_space_new(), *kept[KEPT];
	static struct mapping truth[ADDRESSES], kept_truth[KEPT][ADDRESSES];
	memset(truth, 0, sizeof(truth));
	size_t kept_count = 0;
	for (uint32_t round = 1; round < rounds; round++) {
		if (round % (rounds / KEPT) == 0 && kept_count < KEPT) {
			memcpy(kept_truth[kept_count], truth, sizeof(truth));
			kept[kept_count++] = address_space_share(space);
		}
		uint64_t start = random_below(&random, addresses);
		uint64_t wide = round % 1000 == 0 ? 40 : 1;
		uint64_t end = start + random_below(&random, longest * wide);
		/* half are of one file that goes on from each to the next */
		uint32_t file = round % 2 ? round : 2;
		struct mapping mapping = { start, end > addresses ? addresses : end,
					   file == 2 ? start : 0, file };
		assert_int_equal(address_space_add(&space, &mapping), 0);
		for (uint64_t at = start; at < mapping.end; at++)
			truth[at] =
				(struct mapping){ at, at + 1, mapping.offset + at - start, file };
		expect_truth(space, truth, addresses, addresses / 70);
		if (round % 64 == 0)
			expect_order(space);
	}
	expect_order(space);
	expect_truth(space, truth, addresses, 1);
	address_space_drop(space);
	for (size_t i = 0; i < kept_count; i++) {
		expect_order(kept[i]);
		expect_truth(kept[i], kept_truth[i], addresses, 1);
		address_space_drop(kept[i]);
	}
}

static void random_mappings_agree_with_a_plain_array(void **state)
{
	(void)state;
	compare_with_a_plain_array(500, 30, 6000, 7);
	compare_with_a_plain_array(ADDRESSES, 5, 20000, 8);
	compare_with_a_plain_array(ADDRESSES, 3, 20000, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_mapping_takes_the_place_of_what_it_overlaps),
		cmocka_unit_test(what_goes_on_beside_a_mapping_becomes_one_with_it),
		cmocka_unit_test(a_shared_space_is_copied_by_who_changes_it),
		cmocka_unit_test(a_child_shares_what_it_does_not_change),
		cmocka_unit_test(past_the_limit_nothing_is_added),
		cmocka_unit_test(random_mappings_agree_with_a_plain_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
