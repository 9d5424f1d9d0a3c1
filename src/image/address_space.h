/*
 * address_space - which file lies at which addresses of a process. Shared by a
 * parent and its children until one of them changes it (copy on write), for most
 * children exec at once.
 *
 * The kernel tells of new mappings and not of removed ones: a new mapping takes
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

struct address_space {
	unsigned references;
	struct mapping *list; /* by start, without overlap */
	size_t count;
	size_t capacity;
	void *share; /* the owner's: who pays for it, NULL at birth */
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
 * What is there already copies nothing, and what goes on beside it (heaps that
 * grow, pages that are mapped again) becomes one mapping with it. An empty one
 * (end <= start) does nothing. Returns 0, -ENOMEM, or -E2BIG past
 * ADDRESS_SPACE_LIMIT, with nothing changed.
 */
int address_space_add(struct address_space **space, const struct mapping *mapping);

/* Borrowed until the next change, or NULL. */
const struct mapping *address_space_find(const struct address_space *space, uint64_t address);
