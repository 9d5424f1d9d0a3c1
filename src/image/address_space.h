/*
 * address_space - which file lies at which addresses of a process. Shared by a
 * parent and its children until one of them changes it (copy on write), for most
 * children exec at once. A child that changes it goes on sharing what it does not
 * change: mappings lie in blocks, each of which may belong to many spaces. So a
 * change costs about as much as a block is large, however many mappings there are.
 *
 * The kernel's records report new mappings and not removed ones: a new mapping takes
 * the place of what it overlaps, and what was unmapped stays until then.
 * Reference counts are plain numbers: one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end; /* addresses; end is the first one past it */
	uint64_t offset;     /* in the file, of `start` */
	uint32_t file;	     /* the owner's number for what is mapped */
};

/* Neighbouring mappings, by start, without overlap; never changed, and never empty. */
struct mapping_block {
	const struct mapping *list;
	size_t count;
	uint64_t end; /* of the last of them */
};

struct address_space {
	unsigned references;
	struct mapping_block *blocks; /* by their addresses */
	size_t block_count, block_capacity;
	size_t count; /* of mappings */
	/* The owner's, 0 in a new one: who pays for it, and how much was charged. */
	void *share;
	uint64_t held;
};

/* A process that maps and unmaps for ever at new addresses must not fill our memory:
   the kernel's own limit (vm.max_map_count) is 65530. */
#define ADDRESS_SPACE_LIMIT 131072

struct address_space *address_space_new(void); /* empty, one reference; NULL when out of memory */
struct address_space *address_space_share(struct address_space *space); /* one reference more */
void address_space_drop(struct address_space *space); /* one less; NULL does nothing */

/*
 * Adds a mapping to *space, which is replaced by a copy first when it is shared.
 * A mapping that is there already copies nothing, and one that continues a neighbour
 * (heaps that grow, pages that are mapped again) becomes one mapping with it. An
 * empty one (end <= start) does nothing. Returns 0, -ENOMEM, or -E2BIG past
 * ADDRESS_SPACE_LIMIT, with nothing changed.
 */
int address_space_add(struct address_space **space, const struct mapping *mapping);

/* The mapping that holds the address, borrowed until the next change; or NULL. */
const struct mapping *address_space_find(const struct address_space *space, uint64_t address);

/* Walks all mappings by their addresses: returns the one at *place, which is { 0 } at first, and
 * moves *place past it. NULL at the end. */
struct mapping_place {
	size_t block, at;
};
const struct mapping *address_space_next(const struct address_space *space,
					 struct mapping_place *place);

/* Where the highest mapping ends; 0 where there is none. */
uint64_t address_space_end(const struct address_space *space);
