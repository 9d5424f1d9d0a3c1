#include "analyze/flow/sparse_columns.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void sparse_columns_release(struct sparse_columns *columns)
{
	sparse_order_release(&columns->order);
	free(columns->position_of);
	free(columns->rows);
	free(columns->first);
	free(columns->next);
	free(columns->cursor);
	*columns = (struct sparse_columns){ 0 };
}

int sparse_grow(void *array, size_t count, size_t element_size)
{
	void *old;
	memcpy(&old, array, sizeof(old));
	void *grown = reallocarray(old, count, element_size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	return 0;
}

static int reserve(struct sparse_columns *columns)
{
	size_t nodes = columns->node_count + (size_t)1, entries = columns->entry_count + 1;
	if (nodes > columns->node_capacity) {
		if (sparse_grow(&columns->position_of, nodes, sizeof(*columns->position_of)) < 0 ||
		    sparse_grow(&columns->first, nodes, sizeof(*columns->first)) < 0 ||
		    sparse_grow(&columns->next, nodes, sizeof(*columns->next)) < 0 ||
		    sparse_grow(&columns->cursor, nodes, sizeof(*columns->cursor)) < 0)
			return -ENOMEM;
		columns->node_capacity = nodes;
	}
	if (entries > columns->entry_capacity) {
		if (sparse_grow(&columns->rows, entries, sizeof(*columns->rows)) < 0)
			return -ENOMEM;
		columns->entry_capacity = entries;
	}
	return 0;
}

/* The entries' positions, rising in each column: listed by row first, then the rows in turn
 * append themselves to their columns. */
static int sort_rows(struct sparse_columns *columns)
{
	const uint32_t *entries = columns->order.entries;
	uint32_t count = columns->node_count;
	uint32_t *column_of = malloc((columns->entry_count + 1) * sizeof(*column_of));
	size_t *fill = calloc((size_t)count + 2, sizeof(*fill));
	size_t *cursor = columns->cursor;
	int ret = column_of && fill ? 0 : -ENOMEM;
	if (ret == 0) {
		for (size_t e = 0; e < columns->entry_count; e++)
			fill[columns->position_of[entries[e]] + 2]++;
		for (size_t row = 2; row < (size_t)count + 2; row++)
			fill[row] += fill[row - 1];
		for (uint32_t column = 0; column < count; column++)
			for (size_t e = columns->start[column]; e < columns->start[column + 1]; e++)
				column_of[fill[columns->position_of[entries[e]] + 1]++] = column;
		memcpy(cursor, columns->start, count * sizeof(*cursor));
		for (uint32_t row = 0; row < count; row++)
			for (size_t e = fill[row]; e < fill[row + 1]; e++)
				columns->rows[cursor[column_of[e]]++] = row;
	}
	free(column_of);
	free(fill);
	return ret;
}

int sparse_columns_make(struct sparse_columns *columns, uint32_t node_count,
			const struct sparse_edge *edges, size_t edge_count)
{
	columns->node_count = 0;
	columns->entry_count = 0;
	int ret = sparse_order_make(&columns->order, node_count, edges, edge_count);
	if (ret < 0)
		return ret;
	columns->node_count = node_count;
	columns->nodes = columns->order.nodes;
	columns->start = columns->order.entries_start;
	columns->entry_count = columns->start[node_count];
	if (reserve(columns) < 0)
		return -ENOMEM;
	for (uint32_t at = 0; at < node_count; at++)
		columns->position_of[columns->nodes[at]] = at;
	return sort_rows(columns);
}

size_t sparse_columns_entry(const struct sparse_columns *columns, uint32_t a, uint32_t b)
{
	uint32_t column = a < b ? a : b, row = a < b ? b : a;
	size_t low = columns->start[column], high = columns->start[column + 1];
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (columns->rows[middle] <= row)
			low = middle;
		else
			high = middle;
	}
	assert(columns->rows[low] == row);
	return low;
}
