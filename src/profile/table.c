#include "profile/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/sum.h"

static void count_slots(struct table *table)
{
	table->key_slots = 0;
	table->value_slots = 0;
	for (size_t i = 0; i < table->column_count; i++) {
		size_t slots = column_slots(table->columns[i].type);
		if (table->columns[i].rule == RULE_KEY)
			table->key_slots += slots;
		else
			table->value_slots += slots;
	}
}

static bool name_is_plain(const char *name)
{
	size_t length = strnlen(name, TABLE_NAME_SIZE);
	return length > 0 && length < TABLE_NAME_SIZE &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

const char *table_declaration_fault(const struct column *columns, size_t column_count)
{
	size_t keys = 0;
	if (column_count > TABLE_MAX_COLUMNS)
		return "it has too many columns";
	for (size_t i = 0; i < column_count; i++) {
		if (!name_is_plain(columns[i].name))
			return "a column's name is not plain";
		if (columns[i].type < COLUMN_U64 || columns[i].type > COLUMN_NODE)
			return "a column has an unknown type";
		if (columns[i].rule < RULE_KEY || columns[i].rule > RULE_SET)
			return "a column has an unknown merge rule";
		if (columns[i].rule != RULE_KEY && columns[i].type != COLUMN_U64 &&
		    columns[i].type != COLUMN_U128)
			return "a value column is not a number";
		if (columns[i].type == COLUMN_U128 && columns[i].rule != RULE_SUM)
			return "a 128-bit column is not a sum";
		keys += columns[i].rule == RULE_KEY;
		for (size_t j = 0; j < i; j++)
			if (strcmp(columns[i].name, columns[j].name) == 0)
				return "a column is there twice";
	}
	return keys ? NULL : "it has no key column";
}

struct table *table_new(const char *name, const struct column *columns, size_t column_count)
{
	struct table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	strncpy(table->name, name, sizeof(table->name) - 1);
	memcpy(table->columns, columns, column_count * sizeof(*columns));
	table->column_count = column_count;
	count_slots(table);
	return table;
}

struct table *table_new_like(const struct table *table)
{
	return table_new(table->name, table->columns, table->column_count);
}

void table_free(struct table *table)
{
	if (!table)
		return;
	free(table->keys);
	free(table->values);
	hash_index_release(&table->index);
	free(table);
}

void table_clear(struct table *table)
{
	table->count = 0;
	table->unindexed = false;
	hash_index_release(&table->index);
}

int table_find_column(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (strcmp(table->columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

size_t table_column_slot(const struct table *table, size_t column)
{
	bool key = table->columns[column].rule == RULE_KEY;
	size_t slot = 0;
	for (size_t i = 0; i < column; i++)
		if ((table->columns[i].rule == RULE_KEY) == key)
			slot += column_slots(table->columns[i].type);
	return slot;
}

static uint64_t hash_keys(const struct table *table, const uint64_t *keys)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < table->key_slots; i++)
		hash = hash_u64(hash * 0x9e3779b97f4a7c15u + keys[i] + 1);
	return hash;
}

static bool equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct table *table = rows;
	return memcmp(table_keys(table, position), wanted, table->key_slots * sizeof(uint64_t)) ==
	       0;
}

static void add_u128(uint64_t *into, const uint64_t *from)
{
	unsigned __int128 a = ((unsigned __int128)into[1] << 64) | into[0];
	unsigned __int128 b = ((unsigned __int128)from[1] << 64) | from[0];
	unsigned __int128 sum;
	if (__builtin_add_overflow(a, b, &sum))
		sum = ~(unsigned __int128)0;
	into[0] = (uint64_t)sum;
	into[1] = (uint64_t)(sum >> 64);
}

static void fold(const struct table *table, uint64_t *into, const uint64_t *from)
{
	size_t slot = 0;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		switch (column->rule) {
		case RULE_KEY:
			continue;
		case RULE_SUM:
			if (column->type == COLUMN_U128)
				add_u128(&into[slot], &from[slot]);
			else
				sum_add(&into[slot], from[slot]);
			break;
		case RULE_MIN:
			into[slot] = from[slot] < into[slot] ? from[slot] : into[slot];
			break;
		case RULE_MAX:
			into[slot] = from[slot] > into[slot] ? from[slot] : into[slot];
			break;
		case RULE_SET:
			into[slot] |= from[slot];
			break;
		}
		slot += column_slots(column->type);
	}
}

static int reserve(struct table *table)
{
	int ret = array_reserve(&table->keys, &table->key_capacity, table->count,
				(table->key_slots ? table->key_slots : 1) * sizeof(uint64_t));
	if (ret == 0 && table->value_slots)
		ret = array_reserve(&table->values, &table->value_capacity, table->count,
				    table->value_slots * sizeof(uint64_t));
	return ret;
}

static int make_index(struct table *table)
{
	table->unindexed = true; /* also when memory runs out */
	hash_index_release(&table->index);
	for (uint32_t i = 0; i < table->count; i++) {
		int ret = hash_index_add(&table->index, hash_keys(table, table_keys(table, i)), i);
		if (ret < 0)
			return ret;
	}
	table->unindexed = false;
	return 0;
}

/* Copies a row behind the others, without counting it. */
static int put_row(struct table *table, const uint64_t *keys, const uint64_t *values)
{
	if (table->count >= UINT32_MAX - 1)
		return -ENOMEM;
	int ret = reserve(table);
	if (ret < 0)
		return ret;
	memcpy(table->keys + table->count * table->key_slots, keys,
	       table->key_slots * sizeof(uint64_t));
	if (table->value_slots)
		memcpy(table->values + table->count * table->value_slots, values,
		       table->value_slots * sizeof(uint64_t));
	return 0;
}

int table_append(struct table *table, const uint64_t *keys, const uint64_t *values)
{
	int ret = put_row(table, keys, values);
	if (ret < 0)
		return ret;
	table->count++;
	table->unindexed = true;
	return 0;
}

int table_make_rows(struct table *table)
{
	table_drop_rows(table);
	table->keys = calloc(table->count + 1, (table->key_slots + 1) * sizeof(uint64_t));
	table->values = calloc(table->count + 1, (table->value_slots + 1) * sizeof(uint64_t));
	if (!table->keys || !table->values)
		return -ENOMEM;
	table->key_capacity = table->value_capacity = table->count;
	table->unindexed = true;
	return 0;
}

void table_drop_rows(struct table *table)
{
	free(table->keys);
	free(table->values);
	table->keys = table->values = NULL;
	table->key_capacity = table->value_capacity = 0;
	hash_index_release(&table->index);
}

bool table_has(const struct table *table, const uint64_t *keys)
{
	return hash_index_find(&table->index, hash_keys(table, keys), equal, table, keys) !=
	       HASH_INDEX_NONE;
}

int table_add(struct table *table, const uint64_t *keys, const uint64_t *values, uint32_t *row)
{
	int ret = table->unindexed ? make_index(table) : 0;
	if (ret < 0)
		return ret;
	uint64_t hash = hash_keys(table, keys);
	uint32_t position = hash_index_find(&table->index, hash, equal, table, keys);
	if (position != HASH_INDEX_NONE) {
		if (table->value_slots)
			fold(table, table->values + position * table->value_slots, values);
	} else {
		ret = put_row(table, keys, values);
		if (ret < 0)
			return ret;
		position = (uint32_t)table->count;
		ret = hash_index_add(&table->index, hash, position);
		if (ret < 0)
			return ret;
		table->count++;
	}
	if (row)
		*row = position;
	return 0;
}

/* Rows of `slots` words become rows of `slots + more` words, the new ones 0. */
static uint64_t *widen(const uint64_t *rows, size_t count, size_t slots, size_t more)
{
	uint64_t *wide = calloc(count ? count : 1, (slots + more) * sizeof(uint64_t));
	for (size_t i = 0; wide && slots && i < count; i++)
		memcpy(wide + i * (slots + more), rows + i * slots, slots * sizeof(uint64_t));
	return wide;
}

int table_add_column(struct table *table, const struct column *column)
{
	if (table->column_count == TABLE_MAX_COLUMNS)
		return -E2BIG;
	bool key = column->rule == RULE_KEY;
	uint64_t **rows = key ? &table->keys : &table->values;
	uint64_t *wide = widen(*rows, table->count, key ? table->key_slots : table->value_slots,
			       column_slots(column->type));
	if (!wide)
		return -ENOMEM;
	free(*rows);
	*rows = wide;
	*(key ? &table->key_capacity : &table->value_capacity) = table->count;
	table->columns[table->column_count++] = *column;
	count_slots(table);
	if (!key)
		return 0;
	/* The keys' hashes changed with their width. */
	return table->unindexed ? 0 : make_index(table);
}
