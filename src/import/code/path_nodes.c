#include "import/code/path_nodes.h"

#include <errno.h>
#include <stdlib.h>

/* Open addressing, linear probing, at most half full. */
struct path_node {
	uint64_t low;
	uint32_t high; /* its lower half */
	uint32_t node; /* 0: free */
};

void path_nodes_release(struct path_nodes *nodes)
{
	free(nodes->slots);
}

static struct path_node *slot_of(const struct path_nodes *nodes, uint64_t low, uint32_t high)
{
	size_t mask = nodes->capacity - 1;
	for (size_t at = low & mask;; at = (at + 1) & mask) {
		struct path_node *slot = &nodes->slots[at];
		if (!slot->node || (slot->low == low && slot->high == high))
			return slot;
	}
}

uint32_t path_nodes_find(const struct path_nodes *nodes, struct hash128 path)
{
	return nodes->capacity ? slot_of(nodes, path.low, (uint32_t)path.high)->node : 0;
}

/* Slots hold all that their place depends on, so growing reads nothing else. */
static int grow(struct path_nodes *nodes)
{
	struct path_nodes larger = { .capacity = nodes->capacity ? nodes->capacity * 2 : 64,
				     .count = nodes->count };
	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < nodes->capacity; i++) {
		const struct path_node *slot = &nodes->slots[i];
		if (slot->node)
			*slot_of(&larger, slot->low, slot->high) = *slot;
	}
	free(nodes->slots);
	*nodes = larger;
	return 0;
}

int path_nodes_add(struct path_nodes *nodes, struct hash128 path, uint32_t node)
{
	if (nodes->count >= nodes->capacity / 2 && grow(nodes) < 0)
		return -ENOMEM;
	uint32_t high = (uint32_t)path.high;
	struct path_node *slot = slot_of(nodes, path.low, high);
	nodes->count += !slot->node;
	*slot = (struct path_node){ path.low, high, node };
	return 0;
}
