#include "import/perf_data_cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/large_pages.h"

int perf_cells_init(struct perf_cells *cells)
{
	*cells = (struct perf_cells){ 0 };
	/* a set is one cache line */
	size_t size = PERF_CALLS_SETS * PERF_CALLS_WAYS * sizeof(*cells->calls);
	cells->calls = aligned_alloc(64, size);
	if (!cells->calls)
		return -ENOMEM;
	memset(cells->calls, 0, size);
	return 0;
}

void perf_cells_release(struct perf_cells *cells)
{
	free(cells->list);
	hash_index_release(&cells->index);
	free(cells->nodes);
	free(cells->node_slots);
	free(cells->calls);
	*cells = (struct perf_cells){ 0 };
}

/* ---- calls */

static struct perf_calls_slot *set_of(struct perf_cells *cells, uint64_t hash)
{
	return cells->calls + hash % PERF_CALLS_SETS * PERF_CALLS_WAYS;
}

bool perf_cells_calls(struct perf_cells *cells, uint64_t hash, uint32_t *node)
{
	struct perf_calls_slot *set = set_of(cells, hash);
	for (size_t i = 0; i < PERF_CALLS_WAYS; i++)
		if (set[i].hash == hash && set[i].node) {
			set[i].used = ++cells->clock;
			*node = set[i].node - 1;
			return true;
		}
	return false;
}

void perf_cells_remember_calls(struct perf_cells *cells, uint64_t hash, uint32_t node)
{
	struct perf_calls_slot *set = set_of(cells, hash);
	struct perf_calls_slot *oldest = set;
	for (size_t i = 1; i < PERF_CALLS_WAYS; i++)
		if (set[i].used < oldest->used)
			oldest = &set[i];
	*oldest = (struct perf_calls_slot){ hash, node + 1, ++cells->clock };
}

static uint64_t node_hash(const struct perf_node *node)
{
	return hash_u64(node->vaddr ^ hash_u64((uint64_t)node->parent << 32 | node->image_kind));
}

static bool node_equal(const struct perf_node *a, const struct perf_node *b)
{
	return a->vaddr == b->vaddr && a->parent == b->parent && a->image_kind == b->image_kind;
}

/* The slot that holds a node, or the free one where it would go. */
static struct perf_node_slot *slot_of(struct perf_node_slot *slots, size_t count,
				      const struct perf_node *node)
{
	size_t mask = count - 1;
	size_t at = node_hash(node) & mask;
	while (slots[at].number && !node_equal(&slots[at].node, node))
		at = (at + 1) & mask;
	return &slots[at];
}

static int grow_slots(struct perf_cells *cells)
{
	size_t count = cells->node_slot_count ? cells->node_slot_count * 2 : 1024;
	struct perf_node_slot *slots = large_pages_allocate(count * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0, count * sizeof(*slots));
	for (size_t i = 0; i < cells->node_slot_count; i++) {
		const struct perf_node_slot *slot = &cells->node_slots[i];
		if (slot->number)
			*slot_of(slots, count, &slot->node) = *slot;
	}
	free(cells->node_slots);
	cells->node_slots = slots;
	cells->node_slot_count = count;
	return 0;
}

int perf_cells_node(struct perf_cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
		    enum frame_kind kind, uint32_t *out)
{
	const struct perf_node node = { vaddr, parent, image * 2 + (kind == FRAME_RETURN) };
	if (cells->node_count >= cells->node_slot_count / 8 * 5 && grow_slots(cells) < 0)
		return -ENOMEM;
	struct perf_node_slot *slot = slot_of(cells->node_slots, cells->node_slot_count, &node);
	if (!slot->number) {
		if (cells->node_count >= UINT32_MAX - 2 ||
		    array_reserve(&cells->nodes, &cells->node_capacity, cells->node_count,
				  sizeof(node)) < 0)
			return -ENOMEM;
		cells->nodes[cells->node_count++] = node;
		*slot = (struct perf_node_slot){ node, (uint32_t)cells->node_count, 0 };
	}
	*out = slot->number;
	return 0;
}

void perf_cells_expect_node(const struct perf_cells *cells, uint32_t parent, uint32_t image,
			    uint64_t vaddr, enum frame_kind kind)
{
	const struct perf_node node = { vaddr, parent, image * 2 + (kind == FRAME_RETURN) };
	if (cells->node_slot_count)
		__builtin_prefetch(
			&cells->node_slots[node_hash(&node) & (cells->node_slot_count - 1)]);
}

/* ---- cells */

static uint64_t key_hash(const struct perf_cell_key *key)
{
	uint64_t hash = ((uint64_t)key->calls << 32 | key->image) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= ((uint64_t)key->context << 32 | key->event << 2 | key->stack) *
		UINT64_C(0xc2b2ae3d27d4eb4f);
	return hash_u64(hash ^ key->vaddr);
}

static bool cell_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct perf_cell_key *key = &((const struct perf_cell *)rows)[position].key;
	const struct perf_cell_key *other = wanted;
	return key->vaddr == other->vaddr && key->image == other->image &&
	       key->event == other->event && key->context == other->context &&
	       key->calls == other->calls && key->stack == other->stack;
}

static int reserve_cell(struct perf_cells *cells)
{
	size_t before = cells->capacity;
	int ret = array_reserve(&cells->list, &cells->capacity, cells->count, sizeof(*cells->list));
	if (ret == 0 && cells->capacity != before)
		large_pages_advise(cells->list, cells->capacity * sizeof(*cells->list));
	return ret;
}

static int need_cell(struct perf_cells *cells, const struct perf_waiting *wanted,
		     struct perf_cell **out)
{
	uint32_t position =
		hash_index_find(&cells->index, wanted->hash, cell_equal, cells->list, &wanted->key);
	if (position == HASH_INDEX_NONE) {
		if (cells->count >= HASH_INDEX_NONE - 1 || reserve_cell(cells) < 0)
			return -ENOMEM;
		position = (uint32_t)cells->count;
		cells->list[position] = (struct perf_cell){ .key = wanted->key };
		if (hash_index_add(&cells->index, wanted->hash, position) < 0)
			return -ENOMEM;
		cells->count++;
	}
	*out = &cells->list[position];
	return 0;
}

static int add_waiting(struct perf_cells *cells, const struct perf_waiting *waiting)
{
	struct perf_cell *cell;
	int ret = need_cell(cells, waiting, &cell);
	if (ret < 0)
		return ret;
	cell->cell.samples += waiting->sum.samples;
	/* squares pass 128 bits only after the sum passed 64 */
	cell->cell.squares += waiting->sum.squares;
	return __builtin_add_overflow(cell->cell.estimate, waiting->sum.estimate,
				      &cell->cell.estimate)
		       ? -EOVERFLOW
		       : 0;
}

int perf_cells_settle(struct perf_cells *cells)
{
	int ret = 0;
	for (size_t i = 0; i < cells->waiting_count && cells->index.capacity; i++) {
		uint32_t position =
			hash_index_first_slot(&cells->index, cells->waiting[i].hash)->position;
		if (position != HASH_INDEX_NONE)
			__builtin_prefetch(&cells->list[position], 1);
	}
	for (size_t i = 0; i < cells->waiting_count && ret == 0; i++)
		ret = add_waiting(cells, &cells->waiting[i]);
	cells->waiting_count = 0;
	return ret;
}

int perf_cells_add(struct perf_cells *cells, const struct perf_cell_key *key,
		   const struct cell *sum)
{
	struct perf_waiting *waiting = &cells->waiting[cells->waiting_count++];
	*waiting = (struct perf_waiting){ key_hash(key), *key, *sum };
	if (cells->index.capacity)
		__builtin_prefetch(hash_index_first_slot(&cells->index, waiting->hash));
	return cells->waiting_count == PERF_BATCH ? perf_cells_settle(cells) : 0;
}
