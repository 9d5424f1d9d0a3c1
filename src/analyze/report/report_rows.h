/*
 * report_rows - the rows of a flat report while they are made: found by a key of
 * small numbers, each with a cell by column.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/hash_index.h"

struct report_rows {
	size_t key_size, column_count;
	uint32_t *keys;	   /* count * key_size */
	struct cell *self; /* count * column_count */
	size_t count;
	size_t key_capacity, self_capacity; /* of numbers; of cells */
	struct hash_index index;
};

void report_rows_init(struct report_rows *rows, size_t key_size, size_t column_count);
void report_rows_release(struct report_rows *rows);
/* Stores the number of the row of that key in *row, of a new and empty one if there is none.
 * Returns 0 or -ENOMEM. */
int report_rows_find(struct report_rows *rows, const uint32_t *key, uint32_t *row);

static inline const uint32_t *report_rows_key(const struct report_rows *rows, size_t row)
{
	return rows->keys + row * rows->key_size;
}
static inline struct cell *report_rows_self(const struct report_rows *rows, size_t row)
{
	return rows->self + row * rows->column_count;
}
