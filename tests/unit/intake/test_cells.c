#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "intake/cells.h"

static struct cells new_cells(void)
{
	struct cells cells;
	assert_int_equal(cells_init(&cells), 0);
	return cells;
}

#define DEPTH 6

/* A chain of few places, so that many chains begin alike. */
static void some_chain(struct random_state *random, uint64_t *vaddrs)
{
	for (size_t i = 0; i < DEPTH; i++)
		vaddrs[i] = random_below(random, 6);
}

static void a_chain_leads_to_one_node_and_its_path_back_to_it(void **state)
{
	(void)state;
	struct random_state random = random_seed(1);
	CLEANUP(cells_release) struct cells cells = new_cells();
	for (size_t round = 0; round < 20000; round++) {
		uint64_t vaddrs[DEPTH];
		uint64_t path = CELLS_ROOT_PATH;
		uint32_t node = 0;
		some_chain(&random, vaddrs);
		for (size_t i = 0; i < DEPTH; i++) {
			uint32_t parent = node;
			enum frame_kind kind = i % 2 ? FRAME_RETURN : FRAME_IP;
			assert_int_equal(cells_node(&cells, parent, 3, vaddrs[i], kind, &node), 0);
			path = cells_path_below(path, 3, vaddrs[i], kind);
			assert_int_equal(cells.nodes[node - 1].parent, parent);
			assert_int_equal(cells.nodes[node - 1].vaddr, vaddrs[i]);
			assert_int_equal(cells.nodes[node - 1].image_kind, 3 * 2 + i % 2);
			assert_true(cells_path(&cells, node) == path);
			assert_int_equal(cells_find(&cells, path), node);
		}
	}
	assert_in_range(cells.node_count, 20000, 6 + 36 + 216 + 1296 + 7776 + 46656);
}

static void a_place_differs_by_image_address_kind_and_caller(void **state)
{
	(void)state;
	CLEANUP(cells_release) struct cells cells = new_cells();
	uint32_t first, other;
	assert_int_equal(cells_node(&cells, 0, 1, 8, FRAME_IP, &first), 0);
	assert_int_equal(cells_node(&cells, 0, 2, 8, FRAME_IP, &other), 0);
	assert_int_not_equal(first, other);
	assert_int_equal(cells_node(&cells, 0, 1, 9, FRAME_IP, &other), 0);
	assert_int_not_equal(first, other);
	assert_int_equal(cells_node(&cells, 0, 1, 8, FRAME_RETURN, &other), 0);
	assert_int_not_equal(first, other);
	assert_int_equal(cells_node(&cells, first, 1, 8, FRAME_IP, &other), 0);
	assert_int_not_equal(first, other);
	assert_int_equal(cells_node(&cells, 0, 1, 8, FRAME_IP, &other), 0);
	assert_int_equal(first, other);
	assert_int_equal(cells_find(&cells, CELLS_ROOT_PATH), 0);
}

static void what_was_met_longest_ago_is_forgotten_first(void **state)
{
	(void)state;
	CLEANUP(cells_release) struct cells cells = new_cells();
	uint64_t value = 0;
	assert_false(cells_recall(&cells, 0, &value));
	for (uint64_t i = 1; i <= CELLS_KNOWN_WAYS; i++) /* all of one set */
		cells_remember(&cells, i * CELLS_KNOWN_SETS, i);
	assert_true(cells_recall(&cells, CELLS_KNOWN_SETS, &value));
	assert_int_equal(value, 1);
	cells_remember(&cells, (CELLS_KNOWN_WAYS + 1) * CELLS_KNOWN_SETS, 99);
	assert_false(cells_recall(&cells, 2 * CELLS_KNOWN_SETS, &value));
	for (uint64_t i = 3; i <= CELLS_KNOWN_WAYS; i++) {
		assert_true(cells_recall(&cells, i * CELLS_KNOWN_SETS, &value));
		assert_int_equal(value, i);
	}
	assert_true(cells_recall(&cells, CELLS_KNOWN_SETS, &value));
	assert_int_equal(value, 1);
	assert_true(cells_recall(&cells, (CELLS_KNOWN_WAYS + 1) * CELLS_KNOWN_SETS, &value));
	assert_int_equal(value, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_leads_to_one_node_and_its_path_back_to_it),
		cmocka_unit_test(a_place_differs_by_image_address_kind_and_caller),
		cmocka_unit_test(what_was_met_longest_ago_is_forgotten_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
