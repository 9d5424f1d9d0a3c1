/*
 * path_nodes - the nodes of a profile by the paths of texts that lead to them
 * from the root, for readers of texts in which the same paths come again. A path is
 * known by 96 bits of its hash alone: one look into one table finds a node
 * however deep it lies.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct path_nodes {
	struct path_node *slots;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

/* The hash of a path that is one text longer. The empty path has hash { 0, 0 }. Odd multipliers
 * make the order of the texts count: 2^64 by the golden ratio (Knuth), and one of Steele and Vigna,
 * "Computationally easy, spectrally good multipliers" (2021). */
static inline struct hash128 path_hash(struct hash128 path, struct hash128 text)
{
	return (struct hash128){ hash_u64(path.high * 0x9e3779b97f4a7c15u + text.high + 1),
				 hash_u64(path.low * 0xd1342543de82ef95u + text.low + 1) };
}

void path_nodes_release(struct path_nodes *nodes); /* also right for a zeroed one */
/* The node, or 0 when it is not known. */
uint32_t path_nodes_find(const struct path_nodes *nodes, struct hash128 path);
/* `node` > 0; it replaces an earlier one of that path. Returns 0 or -ENOMEM. */
int path_nodes_add(struct path_nodes *nodes, struct hash128 path, uint32_t node);
