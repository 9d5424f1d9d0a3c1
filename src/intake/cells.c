#include "intake/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/large_pages.h"

int cells_init(struct cells *cells)
{
	*cells = (struct cells){ 0 };
	/* a set is one cache line */
	size_t size = CELLS_KNOWN_SETS * CELLS_KNOWN_WAYS * sizeof(*cells->known);
	cells->known = aligned_alloc(64, size);
	if (!cells->known)
		return -ENOMEM;
	memset(cells->known, 0, size);
	return 0;
}

void cells_release(struct cells *cells)
{
	free(cells->list);
	hash_index_release(&cells->index);
	free(cells->nodes);
	free(cells->node_slots);
	free(cells->known);
	*cells = (struct cells){ 0 };
}

void cells_close(struct cells *cells)
{
	free(cells->node_slots);
	cells->node_slots = NULL;
	cells->node_slot_count = 0;
}

/* ---- the cache of recent lookups */

static struct cells_known *set_of(struct cells *cells, uint64_t key)
{
	return cells->known + key % CELLS_KNOWN_SETS * CELLS_KNOWN_WAYS;
}

bool cells_recall(struct cells *cells, uint64_t key, uint64_t *value)
{
	struct cells_known *set = set_of(cells, key);
	for (size_t i = 0; i < CELLS_KNOWN_WAYS; i++) {
		if (set[i].key != key || !key)
			continue;
		const struct cells_known found = set[i];
		for (; i > 0; i--)
			set[i] = set[i - 1];
		set[0] = found;
		*value = found.value;
		return true;
	}
	return false;
}

void cells_remember(struct cells *cells, uint64_t key, uint64_t value)
{
	struct cells_known *set = set_of(cells, key);
	for (size_t i = CELLS_KNOWN_WAYS - 1; i > 0; i--)
		set[i] = set[i - 1];
	set[0] = (struct cells_known){ key, value };
}

/* ---- nodes */

static struct cells_slot *first_slot(const struct cells *cells, uint64_t path)
{
	return &cells->node_slots[path & (cells->node_slot_count - 1)];
}

/* The next slot, with wrap-around. */
static struct cells_slot *next_slot(const struct cells *cells, struct cells_slot *slot)
{
	return ++slot == cells->node_slots + cells->node_slot_count ? cells->node_slots : slot;
}

static int grow_slots(struct cells *cells)
{
	struct cells_slot *old = cells->node_slots;
	size_t old_count = cells->node_slot_count;
	size_t count = old_count ? old_count * 2 : 1024;
	struct cells_slot *slots = large_pages_allocate(count * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0, count * sizeof(*slots));
	cells->node_slots = slots;
	cells->node_slot_count = count;
	for (size_t i = 0; i < old_count; i++) {
		if (!old[i].number)
			continue;
		struct cells_slot *slot = first_slot(cells, old[i].path);
		while (slot->number)
			slot = next_slot(cells, slot);
		*slot = old[i];
	}
	free(old);
	return 0;
}

uint32_t cells_find(const struct cells *cells, uint64_t path)
{
	if (!cells->node_slot_count)
		return 0;
	struct cells_slot *slot = first_slot(cells, path);
	while (slot->number && slot->path != path)
		slot = next_slot(cells, slot);
	return slot->number;
}

uint64_t cells_path(const struct cells *cells, uint32_t node)
{
	return node ? cells->nodes[node - 1].path : CELLS_ROOT_PATH;
}

static int add_node(struct cells *cells, const struct cells_node *node, struct cells_slot *slot)
{
	if (cells->node_count >= UINT32_MAX - 2 ||
	    array_reserve(&cells->nodes, &cells->node_capacity, cells->node_count, sizeof(*node)) <
		    0)
		return -ENOMEM;
	cells->nodes[cells->node_count++] = *node;
	*slot = (struct cells_slot){ node->path, (uint32_t)cells->node_count, 0 };
	return 0;
}

int cells_node(struct cells *cells, uint32_t parent, uint32_t image, uint64_t vaddr,
	       enum frame_kind kind, uint32_t *out)
{
	const struct cells_node node = {
		.path = cells_path_below(cells_path(cells, parent), image, vaddr, kind),
		.vaddr = vaddr,
		.parent = parent,
		.image_kind = image * 2 + (kind == FRAME_RETURN),
	};
	if (cells->node_count >= cells->node_slot_count / 8 * 5 && grow_slots(cells) < 0)
		return -ENOMEM;
	struct cells_slot *slot = first_slot(cells, node.path);
	while (slot->number && slot->path != node.path)
		slot = next_slot(cells, slot);
	int ret = slot->number ? 0 : add_node(cells, &node, slot);
	*out = slot->number;
	return ret;
}

void cells_expect(const struct cells *cells, uint64_t path)
{
	if (cells->node_slot_count)
		__builtin_prefetch(first_slot(cells, path));
}

/* ---- cells */

/* The factors, 2^64 / golden ratio and one of xxHash's, spread small numbers over all bits. */
static uint64_t key_hash(const struct cell_key *key)
{
	uint64_t hash = ((uint64_t)key->calls << 32 | key->image) * UINT64_C(0x9e3779b97f4a7c15);
	hash ^= ((uint64_t)key->context << 32 | key->event << 2 | key->stack) *
		UINT64_C(0xc2b2ae3d27d4eb4f);
	return hash_u64(hash ^ key->vaddr);
}

static bool cell_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct cell_key *key = &((const struct cells_entry *)rows)[position].key;
	const struct cell_key *other = wanted;
	return key->vaddr == other->vaddr && key->image == other->image &&
	       key->event == other->event && key->context == other->context &&
	       key->calls == other->calls && key->stack == other->stack;
}

static int reserve_cell(struct cells *cells)
{
	size_t before = cells->capacity;
	int ret = array_reserve(&cells->list, &cells->capacity, cells->count, sizeof(*cells->list));
	if (ret == 0 && cells->capacity != before)
		large_pages_advise(cells->list, cells->capacity * sizeof(*cells->list));
	return ret;
}

static int need_cell(struct cells *cells, const struct cells_waiting *wanted,
		     struct cells_entry **out)
{
	uint32_t position =
		hash_index_find(&cells->index, wanted->hash, cell_equal, cells->list, &wanted->key);
	if (position == HASH_INDEX_NONE) {
		if (cells->count >= HASH_INDEX_NONE - 1 || reserve_cell(cells) < 0)
			return -ENOMEM;
		position = (uint32_t)cells->count;
		cells->list[position] = (struct cells_entry){ .key = wanted->key };
		if (hash_index_add(&cells->index, wanted->hash, position) < 0)
			return -ENOMEM;
		cells->count++;
	}
	*out = &cells->list[position];
	return 0;
}

static int add_waiting(struct cells *cells, const struct cells_waiting *waiting)
{
	struct cells_entry *cell;
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

int cells_settle(struct cells *cells)
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

int cells_add(struct cells *cells, const struct cell_key *key, const struct cell *sum)
{
	struct cells_waiting *waiting = &cells->waiting[cells->waiting_count++];
	*waiting = (struct cells_waiting){ key_hash(key), *key, *sum };
	if (cells->index.capacity)
		__builtin_prefetch(hash_index_first_slot(&cells->index, waiting->hash));
	return cells->waiting_count == CELLS_BATCH ? cells_settle(cells) : 0;
}
