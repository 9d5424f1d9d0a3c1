#include <setjmp.h>
#include <stdarg.h>
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

static void random_mappings_agree_with_a_plain_array(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	struct address_space *space = address_space_new();
	struct mapping truth[500] = { 0 };
	for (uint32_t round = 1; round < 6000; round++) {
		uint64_t start = random_below(&random, 500);
		uint64_t end = start + random_below(&random, 30);
		/* half are of one file that goes on from each to the next */
		uint32_t file = round % 2 ? round : 2;
		struct mapping mapping = { start, end > 500 ? 500 : end, file == 2 ? start : 0,
					   file };
		assert_int_equal(address_space_add(&space, &mapping), 0);
		for (uint64_t at = start; at < mapping.end; at++)
			truth[at] =
				(struct mapping){ at, at + 1, mapping.offset + at - start, file };
		for (uint64_t at = 0; at < 500; at += 7) {
			const struct mapping *found = address_space_find(space, at);
			assert_int_equal(found ? found->file : 0, truth[at].file);
			if (found)
				assert_int_equal(found->offset + at - found->start,
						 truth[at].offset);
		}
	}
	for (size_t i = 1; i < space->count; i++) {
		const struct mapping *left = &space->list[i - 1], *right = &space->list[i];
		assert_true(left->end <= right->start);
		assert_false(left->end == right->start && left->file == 2 && right->file == 2);
	}
	address_space_drop(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_mapping_takes_the_place_of_what_it_overlaps),
		cmocka_unit_test(what_goes_on_beside_a_mapping_becomes_one_with_it),
		cmocka_unit_test(a_shared_space_is_copied_by_who_changes_it),
		cmocka_unit_test(random_mappings_agree_with_a_plain_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
