/*
 * chosen - the functions that records are gathered of, to be asked by address,
 * quickly even for millions of addresses that are in none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol;
struct symbol_table;

struct chosen_function {
	uint64_t first, last;
	uint64_t whole; /* where the function starts that it is a part of: its own start, or its
			   parent's when it is cold */
	uint64_t reach; /* the highest `last` up to here in the list */
};

struct chosen {
	struct chosen_function *list; /* by first */
	size_t count;
	uint64_t low, high; /* of all; high is inclusive */
	uint8_t *grains;    /* a bit for each 64 bytes from low on that one of them has; NULL: too
			       many */
};

/* `marks` by position in the table; stubs of the PLT are left out. 0 or -ENOMEM. */
int chosen_build(const struct symbol_table *table, const bool *marks, struct chosen *chosen);
void chosen_release(struct chosen *chosen); /* also right for a zeroed one */

/* May one of them hold the address? */
static inline bool chosen_may_hold(const struct chosen *chosen, uint64_t vaddr)
{
	if (vaddr < chosen->low || vaddr > chosen->high)
		return false;
	uint64_t grain = (vaddr - chosen->low) / 64;
	return !chosen->grains || (chosen->grains[grain / 8] >> (grain % 8) & 1);
}

/* Extents may nest: calls in turn give all that hold the address, the inner ones first. `*at` is
 * SIZE_MAX at first. NULL: no more. */
const struct chosen_function *chosen_next(const struct chosen *chosen, uint64_t vaddr, size_t *at);

/* The start of the whole function that a symbol is a part of. */
uint64_t chosen_whole(const struct symbol *symbol);
