/*
 * table - rows of declared columns. Key columns name a row; value columns say
 * how two rows of the same key become one. Everything in a profile is such a
 * table, so merging, renumbering and storing are written once, and a table
 * that this version has never heard of is merged right by its declaration.
 *
 * In memory each column is one 64-bit slot (COLUMN_U128: two, low half first).
 * References to other tables are their row number plus one; 0 is "none".
 * A table belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_index.h"

struct error;

#define TABLE_MAX_COLUMNS 32
#define TABLE_NAME_SIZE	  32 /* with the final NUL */

/* The numbers are those of the file (docs/profile-format.md): only ever add. */
enum column_type {
	COLUMN_U64 = 0,
	COLUMN_OPTIONAL = 1, /* a u64 that may be absent: stored plus one, 0 is absent */
	COLUMN_U128 = 2,     /* value columns only, summed */
	COLUMN_BYTES = 3,    /* a number in the profile's byte pool */
	COLUMN_EVENT = 4,    /* references, to the tables "event", "image", "context", "node" */
	COLUMN_IMAGE = 5,
	COLUMN_CONTEXT = 6,
	COLUMN_NODE = 7,
};

enum column_rule {
	RULE_KEY = 0, /* part of the row's name */
	RULE_SUM = 1, /* saturating (base/sum.h), which keeps it associative */
	RULE_MIN = 2,
	RULE_MAX = 3,
	RULE_SET = 4, /* union of a set of small numbers, one a bit */
};

struct column {
	char name[TABLE_NAME_SIZE]; /* [a-z0-9_]+ */
	enum column_type type;
	enum column_rule rule;
};

struct table {
	char name[TABLE_NAME_SIZE];
	struct column columns[TABLE_MAX_COLUMNS];
	size_t column_count;
	size_t key_slots;
	size_t value_slots;
	uint64_t *keys;	  /* count * key_slots, row by row, key columns in declared order */
	uint64_t *values; /* count * value_slots, likewise */
	size_t count;
	size_t key_capacity, value_capacity;
	struct hash_index index; /* of all rows by key, unless `unindexed` */
	bool unindexed;		 /* the next table_add() makes the index anew */
};

/* Returns an empty table that the caller frees, or NULL when out of memory. The declaration is one
 * that table_declaration_fault() accepts. */
struct table *table_new(const char *name, const struct column *columns, size_t column_count);
/* The same without rows of another one. */
struct table *table_new_like(const struct table *table);
void table_free(struct table *table);
void table_clear(struct table *table); /* removes all rows */

/* NULL when the declaration is usable, else what is wrong with it, as "a column is there twice". */
const char *table_declaration_fault(const struct column *columns, size_t column_count);

/* Position among `columns`, or -1. */
int table_find_column(const struct table *table, const char *name);
/* First slot of a column, counted within the keys or within the values. */
size_t table_column_slot(const struct table *table, size_t column);

/*
 * Adds a column, which is 0 in the rows so far. The new slot comes last among the
 * keys or the values. Returns 0; -E2BIG past TABLE_MAX_COLUMNS; or -ENOMEM, after which
 * the table is sound but may have the column or not.
 */
int table_add_column(struct table *table, const struct column *column);

/*
 * Merges one row: a new key is appended, a known one gets `values` folded in by
 * the rules. Stores the row's position in *row when not NULL. Returns 0 or -ENOMEM.
 */
int table_add(struct table *table, const uint64_t *keys, const uint64_t *values, uint32_t *row);

/* Whether there is a row of that key. Rows that table_append() added since the last table_add() are
 * not found. */
bool table_has(const struct table *table, const uint64_t *keys);

/*
 * Adds a row whose key is known not to be there, as when reading sorted rows:
 * much cheaper than table_add(), because the index is left for later. The next
 * table_add() makes it. Returns 0 or -ENOMEM.
 */
int table_append(struct table *table, const uint64_t *keys, const uint64_t *values);

/*
 * Rows that the caller writes into `keys` and `values`, and not table_add(): the caller sets
 * `count`, then table_make_rows() makes room for exactly that many rows of zeros, which replace
 * the table's. No other function may be called on the table until their keys differ.
 * table_drop_rows() frees them and leaves `count` alone, after which no row may be read.
 * Returns 0 or -ENOMEM.
 */
int table_make_rows(struct table *table);
void table_drop_rows(struct table *table);

static inline const uint64_t *table_keys(const struct table *table, size_t row)
{
	return table->keys ? table->keys + row * table->key_slots : NULL;
}

static inline const uint64_t *table_values(const struct table *table, size_t row)
{
	return table->values ? table->values + row * table->value_slots : NULL;
}

static inline bool column_is_reference(enum column_type type)
{
	return type >= COLUMN_EVENT && type <= COLUMN_NODE;
}

static inline size_t column_slots(enum column_type type)
{
	return type == COLUMN_U128 ? 2 : 1;
}
