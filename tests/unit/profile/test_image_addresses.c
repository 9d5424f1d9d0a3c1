#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "profile/image_addresses.h"
#include "profile/profile.h"

#define IMAGES 5u

static void add_images(struct profile *profile)
{
	for (uint32_t i = 0; i < IMAGES; i++) {
		char name[] = "/a";
		uint32_t id;
		name[1] = (char)('a' + i);
		const struct profile_image image = { .kind = IMAGE_FILE,
						     .space = SPACE_ELF,
						     .name = span_of_text(name) };
		assert_int_equal(profile_add_image(profile, &image, &id), 0);
		assert_int_equal(id, i + 1);
	}
}

static void add_flat(struct profile *profile, uint32_t image, uint64_t vaddr, uint64_t context)
{
	const uint64_t keys[] = { [FLAT_EVENT] = 0,
				  [FLAT_IMAGE] = image,
				  [FLAT_VADDR] = vaddr,
				  [FLAT_NAME] = 0,
				  [FLAT_CONTEXT] = context };
	const uint64_t values[TABLE_MAX_COLUMNS] = { [CELL_SAMPLES] = 1 };
	assert_int_equal(table_append(profile->tables[PROFILE_FLAT], keys, values), 0);
}

static void add_node(struct profile *profile, uint32_t image, uint64_t vaddr, enum frame_kind kind)
{
	const uint64_t keys[] = { [NODE_PARENT] = 0,
				  [NODE_KIND] = kind,
				  [NODE_IMAGE] = image,
				  [NODE_VADDR] = vaddr,
				  [NODE_NAME] = 0 };
	const uint64_t values[TABLE_MAX_COLUMNS] = { 0 };
	assert_int_equal(table_append(profile->tables[PROFILE_NODE], keys, values), 0);
}

/* Addresses of all lengths, many of them several times. */
static uint64_t some_vaddr(struct random_state *random)
{
	uint64_t near = random_below(random, 300);
	switch (random_below(random, 4)) {
	case 0:
		return near;
	case 1:
		return 0x401000 + near * 7;
	case 2:
		return UINT64_C(0x7f0000000000) + near * 0x1001;
	default:
		return UINT64_MAX - near;
	}
}

static int compare(const void *a, const void *b)
{
	const struct image_address *left = a, *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Each image has a run of its own, up to the highest vaddr there is; some have none. */
static void must_part_by_image(const struct image_addresses *addresses)
{
	size_t at = 0;
	for (uint32_t image = 1; image <= IMAGES + 1; image++) {
		size_t count, expected = 0;
		const struct image_address *list = image_addresses_of(addresses, image, &count);
		while (at + expected < addresses->count &&
		       addresses->list[at + expected].image == image)
			expected++;
		assert_int_equal(count, expected);
		assert_ptr_equal(list, expected ? addresses->list + at : NULL);
		at += expected;
	}
	assert_int_equal(at, addresses->count);
	assert_int_equal(image_addresses_run(addresses, at), 0);
}

static void addresses_rise_and_stand_once(void **state)
{
	(void)state;
	const bool wanted[IMAGES + 1] = { false, true, true, false, true, true };
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_state random = random_seed(seed);
		CLEANUP(profile_freep) struct profile *profile = profile_new();
		CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
		struct image_address expected[4000];
		size_t count = 0, distinct = 0;
		add_images(profile);
		for (size_t i = 0; i < 2000; i++) {
			uint32_t image = (uint32_t)random_below(&random, IMAGES) + 1;
			uint64_t vaddr = some_vaddr(&random);
			bool call = random_below(&random, 2);
			if (i % 2)
				add_flat(profile, image, vaddr, i);
			else
				add_node(profile, image, vaddr, call ? FRAME_RETURN : FRAME_IP);
			if (i % 2 == 0 && call && vaddr)
				vaddr--;
			if (wanted[image])
				expected[count++] = (struct image_address){ image, vaddr };
		}
		qsort(expected, count, sizeof(expected[0]), compare);
		for (size_t i = 0; i < count; i++)
			if (!distinct || compare(&expected[distinct - 1], &expected[i]) != 0)
				expected[distinct++] = expected[i];
		assert_int_equal(image_addresses_collect(profile, wanted, &addresses), 0);
		assert_int_equal(addresses.count, distinct);
		for (size_t i = 0; i < distinct; i++)
			assert_int_equal(compare(&addresses.list[i], &expected[i]), 0);
		must_part_by_image(&addresses);
	}
}

static void a_profile_without_addresses_has_none(void **state)
{
	(void)state;
	const bool wanted[IMAGES + 1] = { false };
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	CLEANUP(image_addresses_release) struct image_addresses addresses = { 0 };
	size_t count;
	add_images(profile);
	assert_int_equal(image_addresses_collect(profile, wanted, &addresses), 0);
	assert_int_equal(addresses.count, 0);
	assert_null(image_addresses_of(&addresses, 1, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_rise_and_stand_once),
		cmocka_unit_test(a_profile_without_addresses_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
