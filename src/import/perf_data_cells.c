#include "import/perf_data_cells.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

int perf_cells_init(struct perf_cells *cells)
{
	*cells = (struct perf_cells){ .chains = calloc(PERF_CHAIN_SLOTS, sizeof(*cells->chains)) };
	return cells->chains ? 0 : -ENOMEM;
}

void perf_cells_release(struct perf_cells *cells)
{
	free(cells->list);
	hash_index_release(&cells->index);
	free(cells->nodes);
	hash_index_release(&cells->node_index);
	free(cells->chains);
	*cells = (struct perf_cells){ 0 };
}

void perf_cells_remember(struct perf_cells *cells, const struct hash128 *hash, uint32_t cell)
{
	size_t set = hash->low % (PERF_CHAIN_SLOTS / PERF_CHAIN_WAYS) * PERF_CHAIN_WAYS;
	struct perf_chain_slot *oldest = &cells->chains[set];
	for (size_t i = set; i < set + PERF_CHAIN_WAYS; i++) {
		struct perf_chain_slot *slot = &cells->chains[i];
		if (!slot->cell || slot->used < oldest->used)
			oldest = slot;
		if (!oldest->cell)
			break;
	}
	*oldest = (struct perf_chain_slot){ *hash, cell, ++cells->clock };
}

static uint64_t node_hash(const struct perf_node *node)
{
	return hash_u64(node->vaddr ^ hash_u64((uint64_t)node->parent << 32 | node->image_kind));
}

static bool node_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_node *node = &((const struct perf_node *)rows)[position];
	const struct perf_node *key = wanted;
	return node->vaddr == key->vaddr && node->parent == key->parent &&
	       node->image_kind == key->image_kind;
}

static uint64_t node_rehash(const void *rows, uint32_t position)
{
	return node_hash(&((const struct perf_node *)rows)[position]);
}

int perf_cells_node(struct perf_cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
		    enum frame_kind kind, uint32_t *out)
{
	const struct perf_node node = { vaddr, parent, image * 2 + (kind == FRAME_RETURN) };
	uint64_t hash = node_hash(&node);
	uint32_t position =
		hash_index_find(&cells->node_index, hash, node_equal, cells->nodes, &node);
	if (position == HASH_INDEX_NONE) {
		if (cells->node_count >= HASH_INDEX_NONE - 1 ||
		    array_reserve(&cells->nodes, &cells->node_capacity, cells->node_count,
				  sizeof(node)) < 0)
			return -ENOMEM;
		position = (uint32_t)cells->node_count;
		cells->nodes[position] = node;
		if (hash_index_add(&cells->node_index, hash, position, node_rehash, cells->nodes) <
		    0)
			return -ENOMEM;
		cells->node_count++;
	}
	*out = position + 1;
	return 0;
}

static uint64_t cell_hash(const struct perf_cell *cell)
{
	uint64_t hash = hash_u64((uint64_t)cell->node << 32 | cell->event);
	hash = hash_u64(hash ^ ((uint64_t)cell->context << 32 | cell->image));
	return hash_u64(hash ^ cell->vaddr);
}

static bool cell_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_cell *cell = &((const struct perf_cell *)rows)[position];
	const struct perf_cell *key = wanted;
	return cell->vaddr == key->vaddr && cell->image == key->image &&
	       cell->event == key->event && cell->context == key->context &&
	       cell->node == key->node;
}

static uint64_t cell_rehash(const void *rows, uint32_t position)
{
	return cell_hash(&((const struct perf_cell *)rows)[position]);
}

int perf_cells_find(struct perf_cells *cells, const struct perf_cell *wanted, uint32_t *number)
{
	uint64_t hash = cell_hash(wanted);
	uint32_t position = hash_index_find(&cells->index, hash, cell_equal, cells->list, wanted);
	if (position == HASH_INDEX_NONE) {
		if (cells->count >= HASH_INDEX_NONE - 1 ||
		    array_reserve(&cells->list, &cells->capacity, cells->count, sizeof(*wanted)) <
			    0)
			return -ENOMEM;
		position = (uint32_t)cells->count;
		cells->list[position] = *wanted;
		if (hash_index_add(&cells->index, hash, position, cell_rehash, cells->list) < 0)
			return -ENOMEM;
		cells->count++;
	}
	*number = position + 1;
	return 0;
}

int perf_cell_add(struct perf_cell *cell, uint64_t samples, uint64_t weight)
{
	unsigned __int128 square = (unsigned __int128)weight * weight;
	cell->cell.samples += samples;
	/* squares pass 128 bits only after the sum passed 64 */
	cell->cell.squares += samples ? square : 0;
	return __builtin_add_overflow(cell->cell.estimate, weight, &cell->cell.estimate)
		       ? -EOVERFLOW
		       : 0;
}
