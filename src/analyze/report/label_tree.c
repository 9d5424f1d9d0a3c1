#include "analyze/report/label_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void label_tree_release(struct label_tree *tree)
{
	free(tree->nodes);
	hash_index_release(&tree->index);
	*tree = (struct label_tree){ 0 };
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct label_node *a = (const struct label_node *)rows + position, *b = wanted;
	return a->parent == b->parent && a->label == b->label;
}

int label_tree_find(struct label_tree *tree, uint32_t parent, uint32_t label, uint32_t *node)
{
	const struct label_node wanted = { parent, label };
	uint64_t hash = hash_u64((uint64_t)parent << 32 | label);
	*node = hash_index_find(&tree->index, hash, equal, tree->nodes, &wanted);
	if (*node != HASH_INDEX_NONE)
		return 0;
	if (tree->count >= UINT32_MAX / 2) /* nodes are 32-bit numbers, also plus one */
		return -ENOMEM;
	int ret = array_reserve(&tree->nodes, &tree->capacity, tree->count, sizeof(*tree->nodes));
	if (ret < 0)
		return ret;
	*node = (uint32_t)tree->count;
	tree->nodes[*node] = wanted;
	ret = hash_index_add(&tree->index, hash, *node);
	if (ret == 0)
		tree->count++;
	return ret;
}

int node_cells_grow(struct node_cells *cells, size_t count)
{
	size_t row_bytes = cells->columns * sizeof(struct cell);
	if (count > cells->capacity) {
		size_t capacity = 2 * count + 128;
		struct cell *grown = reallocarray(cells->list, capacity, row_bytes);
		if (!grown)
			return -ENOMEM;
		cells->list = grown;
		cells->capacity = capacity;
	}
	/* `count` rows and no more: memory that is not written to is not used */
	memset(node_cells_of(cells, cells->count), 0, (count - cells->count) * row_bytes);
	cells->count = count;
	return 0;
}
