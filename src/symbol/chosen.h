/*
 * chosen - finds those of the functions that records are gathered of which hold an
 * address. Fast for addresses in none of them too: millions of branches are looked up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol;
struct symbol_table;

struct chosen_function {
	uint64_t first, last;
	uint64_t whole; /* the start of the function that it is a part of: of a cold part its
			   parent's, else its own */
	uint64_t reach; /* the highest `last` up to here in the list */
};

struct chosen {
	struct chosen_function *list; /* by first */
	size_t count;
	uint64_t low, high; /* the range of all of them; high is inclusive */
	uint8_t *grains;    /* a bit for each 64 bytes from low on: whether one of them is there;
			       NULL: the range is too large for that */
};

/* `marks` by position in the table; stubs of the PLT are left out. 0 or -ENOMEM. */
int chosen_build(const struct symbol_table *table, const bool *marks, struct chosen *chosen);
void chosen_release(struct chosen *chosen); /* also right for a zeroed one */

/* False: none of them holds the address. */
static inline bool chosen_may_hold(const struct chosen *chosen, uint64_t vaddr)
{
	if (vaddr < chosen->low || vaddr > chosen->high)
		return false;
	uint64_t grain = (vaddr - chosen->low) / 64;
	return !chosen->grains || (chosen->grains[grain / 8] >> (grain % 8) & 1);
}

/* Extents may nest: repeated calls return all that hold the address, the inner ones first. The
 * caller sets *at to SIZE_MAX before the first. NULL: no more. */
const struct chosen_function *chosen_next(const struct chosen *chosen, uint64_t vaddr, size_t *at);

/* The start of the whole function that a symbol is a part of. */
uint64_t chosen_whole(const struct symbol *symbol);
