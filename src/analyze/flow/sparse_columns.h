/*
 * sparse_columns - the pattern of a factor: which entries each column has below its diagonal,
 * in the order of elimination (sparse_order.h), rows rising. Shared by factors of different
 * values (sparse_ldl.h, sparse_chain.h).
 *
 * Fill anew as often as wanted: memory is kept until sparse_columns_release().
 */
#pragma once

#include "analyze/flow/sparse_order.h"

#define SPARSE_NO_COLUMN UINT32_MAX

struct sparse_columns {
	struct sparse_order order;
	uint32_t node_count;
	size_t entry_count;
	const uint32_t *nodes; /* by position; the order's */
	const size_t *start;   /* by position, and one more: its entries; the order's */
	uint32_t *position_of; /* by node */
	uint32_t *rows;	       /* by entry: positions */

	/*
	 * For factors that are made column by column, each from those before it (left-looking):
	 * the columns that wait for a row, as each has its entry at `cursor` there, are a list
	 * from first[row] on over next[column]; SPARSE_NO_COLUMN ends it. The caller empties the
	 * lists.
	 */
	uint32_t *first, *next;
	size_t *cursor;

	/* private */
	size_t node_capacity, entry_capacity;
};

/* Returns as sparse_order_make(); edges to SPARSE_GROUND have no entries. */
int sparse_columns_make(struct sparse_columns *columns, uint32_t node_count,
			const struct sparse_edge *edges, size_t edge_count);
void sparse_columns_release(struct sparse_columns *columns); /* also right for a zeroed one */

/* Adds a column to those that wait for the row of its entry at the cursor, unless it has no more.
 */
static inline void sparse_columns_wait(struct sparse_columns *columns, uint32_t column)
{
	if (columns->cursor[column] == columns->start[column + 1])
		return;
	uint32_t row = columns->rows[columns->cursor[column]];
	columns->next[column] = columns->first[row];
	columns->first[row] = column;
}

/* The entry between two positions that an edge joins. */
size_t sparse_columns_entry(const struct sparse_columns *columns, uint32_t a, uint32_t b);

/* Makes room for `count` elements in an array, of which `array` is the address of the pointer. 0,
 * or -ENOMEM with the array unchanged. */
int sparse_grow(void *array, size_t count, size_t element_size);
