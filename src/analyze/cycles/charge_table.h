/*
 * charge_table - which instructions the samples at an address of a procedure belong to: by
 * sampled address those that ran before it, with their shares (docs/methods.md, "Skid").
 * For views that keep samples as whole numbers: the parts add up to the whole.
 *
 * Nothing changes a table once made; it does not borrow from its procedure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"

struct charge {
	uint64_t vaddr; /* of the instruction that is charged */
	double share;	/* of all charges of an address the sum is 1 */
};

struct charge_row {
	uint64_t vaddr; /* that was sampled */
	size_t first, count;
};

struct charge_table {
	struct charge_row *rows; /* by vaddr */
	size_t row_count;
	struct charge *charges; /* of a row: by vaddr, each once */
	size_t charge_count;
};

/* Of all sampled addresses of the procedure and its cold part where an instruction starts, with
 * samples that are late by `skid` executed instructions. 0 or -ENOMEM. */
int charge_table_init(const struct procedure_cycles *procedure, unsigned skid,
		      struct charge_table *out);
void charge_table_release(struct charge_table *table); /* also right for a zeroed one */

/* The charges of samples at that address; NULL: its code is not known, so they stay there. */
const struct charge *charge_table_find(const struct charge_table *table, uint64_t vaddr,
				       size_t *count);

/*
 * Cuts a cell by its charges: parts[i] is what charges[i] gets. Samples and events stay whole and
 * their sums are the cell's; each part is off by less than 1 of its share.
 */
void charge_split(const struct cell *cell, const struct charge *charges, size_t count,
		  struct cell *parts);
