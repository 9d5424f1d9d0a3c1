#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/figures/interval.h"
#include "analyze/report/label_tree.h"
#include "base/cleanup.h"
#include "base/random.h"

static void a_node_is_found_by_parent_and_label(void **state)
{
	(void)state;
	CLEANUP(label_tree_release) struct label_tree tree = { 0 };
	uint32_t root, a, b, other, again;
	assert_int_equal(label_tree_find(&tree, LABEL_TREE_NONE, 7, &root), 0);
	assert_int_equal(label_tree_find(&tree, root, 7, &a), 0);
	assert_int_equal(label_tree_find(&tree, a, 7, &b), 0);
	assert_int_equal(label_tree_find(&tree, LABEL_TREE_NONE, 8, &other), 0);
	assert_int_equal(tree.count, 4);
	assert_int_equal(label_tree_find(&tree, a, 7, &again), 0);
	assert_int_equal(again, b);
	assert_int_equal(label_tree_find(&tree, LABEL_TREE_NONE, 7, &again), 0);
	assert_int_equal(again, root);
	assert_int_equal(tree.count, 4);
}

/* However large it grows, each path is one node, and its parent has a lower number. */
static void paths_of_equal_labels_are_one(void **state)
{
	(void)state;
	CLEANUP(label_tree_release) struct label_tree tree = { 0 };
	uint32_t leaves[2][500];
	size_t once = 0;
	for (int round = 0; round < 2; round++) {
		struct random_state random = random_seed(5);
		for (size_t i = 0; i < 500; i++) {
			uint32_t node = LABEL_TREE_NONE;
			for (uint64_t depth = random_below(&random, 20) + 1; depth > 0; depth--)
				assert_int_equal(label_tree_find(&tree, node,
								 (uint32_t)random_below(&random, 4),
								 &node),
						 0);
			leaves[round][i] = node;
		}
		if (round == 0)
			once = tree.count;
	}
	assert_int_equal(tree.count, once);
	assert_memory_equal(leaves[0], leaves[1], sizeof(leaves[0]));
	for (uint32_t node = 0; node < tree.count; node++)
		assert_true(tree.nodes[node].parent == LABEL_TREE_NONE ||
			    tree.nodes[node].parent < node);
}

static void cells_of_new_nodes_are_empty_and_those_of_old_ones_stay(void **state)
{
	(void)state;
	struct node_cells cells = { .columns = 3 };
	for (size_t count = 1; count < 2000; count++) {
		assert_int_equal(node_cells_reach(&cells, count), 0);
		for (size_t c = 0; c < 3; c++) {
			struct cell *cell = &node_cells_of(&cells, count - 1)[c];
			assert_true(cell_is_empty(cell));
			cell->samples = 3 * count + c;
		}
	}
	for (size_t count = 1; count < 2000; count++)
		for (size_t c = 0; c < 3; c++)
			assert_int_equal(node_cells_of(&cells, count - 1)[c].samples,
					 3 * count + c);
	free(cells.list);
}

static void without_columns_there_are_no_cells(void **state)
{
	(void)state;
	struct node_cells cells = { .columns = 0 };
	assert_int_equal(node_cells_reach(&cells, 5), 0);
	assert_null(cells.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_is_found_by_parent_and_label),
		cmocka_unit_test(paths_of_equal_labels_are_one),
		cmocka_unit_test(cells_of_new_nodes_are_empty_and_those_of_old_ones_stay),
		cmocka_unit_test(without_columns_there_are_no_cells),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
