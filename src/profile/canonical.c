#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Old id -> new id; before numbering, 1 marks what is kept. */
struct renumbering {
	uint32_t *bytes;
	uint32_t *dictionaries[PROFILE_DICTIONARIES];
};

static void renumbering_release(struct renumbering *renumbering)
{
	free(renumbering->bytes);
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++)
		free(renumbering->dictionaries[i]);
}

static int renumbering_init(struct renumbering *renumbering, const struct profile *profile)
{
	renumbering->bytes = calloc(profile->bytes.count + 1, sizeof(uint32_t));
	bool complete = renumbering->bytes;
	for (size_t i = 0; i < PROFILE_DICTIONARIES; i++) {
		renumbering->dictionaries[i] =
			calloc(profile->tables[i]->count + 1, sizeof(uint32_t));
		complete = complete && renumbering->dictionaries[i];
	}
	return complete ? 0 : -ENOMEM;
}

static uint32_t *map_of(const struct renumbering *map, enum column_type type)
{
	if (type == COLUMN_BYTES)
		return map->bytes;
	return column_is_reference(type) ? map->dictionaries[type - COLUMN_EVENT] : NULL;
}

static void mark_row(const struct table *table, size_t row, struct renumbering *map)
{
	const uint64_t *keys = table_keys(table, row);
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].rule != RULE_KEY)
			continue;
		uint32_t *ids = map_of(map, table->columns[i].type);
		if (ids && *keys)
			ids[*keys] = 1;
		keys++;
	}
}

/* What is referred to, from the relations down to the bytes. */
static void mark(const struct profile *profile, struct renumbering *map)
{
	for (size_t i = PROFILE_DICTIONARIES; i < profile->table_count; i++)
		for (size_t row = 0; row < profile->tables[i]->count; row++)
			mark_row(profile->tables[i], row, map);
	for (size_t row = 0; row < profile->tables[PROFILE_EVENT]->count; row++)
		map->dictionaries[PROFILE_EVENT][row + 1] = 1;
	/* The last dictionary refers to the ones before, and a node to nodes of lower ids. */
	for (size_t i = PROFILE_DICTIONARIES; i-- > 0;)
		for (size_t row = profile->tables[i]->count; row-- > 0;)
			if (map->dictionaries[i][row + 1])
				mark_row(profile->tables[i], row, map);
}

static int compare_bytes(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	return span_compare(profile_bytes(profile, *(const uint32_t *)a),
			    profile_bytes(profile, *(const uint32_t *)b));
}

static int number_bytes(const struct profile *profile, struct profile *out, struct renumbering *map)
{
	CLEANUP(free_pointer) uint32_t *order = calloc(profile->bytes.count + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	size_t count = 0;
	for (uint32_t id = 1; id <= profile->bytes.count; id++)
		if (map->bytes[id])
			order[count++] = id;
	qsort_r(order, count, sizeof(*order), compare_bytes, (void *)profile);
	for (size_t i = 0; i < count; i++) {
		int ret = profile_add_bytes(out, profile_bytes(profile, order[i]),
					    &map->bytes[order[i]]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * A table's columns in canonical order: the known ones as declared, others by
 * name. `source` says which column of the original each one is.
 */
struct layout {
	struct column columns[TABLE_MAX_COLUMNS];
	size_t source[TABLE_MAX_COLUMNS];
	size_t count;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->name, ((const struct column *)b)->name);
}

static void layout_of(const struct table *table, size_t known, struct layout *layout)
{
	memcpy(layout->columns, table->columns, table->column_count * sizeof(struct column));
	layout->count = table->column_count;
	qsort(layout->columns + known, layout->count - known, sizeof(struct column), compare_names);
	for (size_t i = 0; i < layout->count; i++)
		layout->source[i] = (size_t)table_find_column(table, layout->columns[i].name);
}

/* Rows under the new ids, still in the old order: flat arrays to sort an order over. */
struct rows {
	uint64_t *keys;
	uint64_t *values;
	size_t key_slots, value_slots;
	uint32_t *order; /* positions of the kept rows in the old table */
	size_t count;
};

static void rows_release(struct rows *rows)
{
	free(rows->keys);
	free(rows->values);
	free(rows->order);
}

static void renumber_row(const struct table *table, size_t row, const struct layout *layout,
			 const struct renumbering *map, uint64_t *keys, uint64_t *values)
{
	for (size_t i = 0; i < layout->count; i++) {
		const struct column *column = &layout->columns[i];
		size_t slot = table_column_slot(table, layout->source[i]);
		if (column->rule == RULE_KEY) {
			uint64_t value = table_keys(table, row)[slot];
			const uint32_t *ids = map_of(map, column->type);
			*keys++ = ids ? ids[value] : value;
			continue;
		}
		for (size_t j = 0; j < column_slots(column->type); j++)
			*values++ = table_values(table, row)[slot + j];
	}
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct rows *rows = context;
	const uint64_t *left = rows->keys + *(const uint32_t *)a * rows->key_slots;
	const uint64_t *right = rows->keys + *(const uint32_t *)b * rows->key_slots;
	for (size_t i = 0; i < rows->key_slots; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int rows_init(struct rows *rows, const struct table *table)
{
	rows->key_slots = table->key_slots;
	rows->value_slots = table->value_slots;
	rows->keys = calloc(table->count * table->key_slots + 1, sizeof(uint64_t));
	rows->values = calloc(table->count * table->value_slots + 1, sizeof(uint64_t));
	rows->order = calloc(table->count + 1, sizeof(uint32_t));
	return rows->keys && rows->values && rows->order ? 0 : -ENOMEM;
}

static int add_sorted(struct rows *rows, size_t first, size_t count, struct table *out,
		      uint32_t *ids)
{
	qsort_r(rows->order + first, count, sizeof(uint32_t), compare_rows, rows);
	for (size_t i = first; i < first + count; i++) {
		uint32_t old = rows->order[i];
		/* Rows that differed still do: ids were only renumbered. */
		int ret = table_append(out, rows->keys + old * rows->key_slots,
				       rows->values + old * rows->value_slots);
		if (ret < 0)
			return ret;
		if (ids)
			ids[old + 1] = (uint32_t)out->count;
	}
	return 0;
}

/* `ids` is NULL for a relation, whose rows are all kept. */
static int number_rows(const struct table *table, struct table *out, const struct layout *layout,
		       const struct renumbering *map, uint32_t *ids)
{
	CLEANUP(rows_release) struct rows rows = { 0 };
	if (rows_init(&rows, table) < 0)
		return -ENOMEM;
	for (size_t row = 0; row < table->count; row++) {
		if (ids && !ids[row + 1])
			continue;
		rows.order[rows.count++] = (uint32_t)row;
		renumber_row(table, row, layout, map, rows.keys + row * rows.key_slots,
			     rows.values + row * rows.value_slots);
	}
	return add_sorted(&rows, 0, rows.count, out, ids);
}

/*
 * Nodes are numbered level by level, each level sorted by parent and frame, so
 * that a parent's id stays below its children's.
 */
static int number_nodes(const struct table *table, struct table *out, const struct layout *layout,
			const struct renumbering *map, uint32_t *ids)
{
	CLEANUP(rows_release) struct rows rows = { 0 };
	CLEANUP(free_pointer) uint32_t *depth = calloc(table->count + 1, sizeof(*depth));
	CLEANUP(free_pointer) size_t *level = calloc(table->count + 2, sizeof(*level));
	if (rows_init(&rows, table) < 0 || !depth || !level)
		return -ENOMEM;
	/* level[d + 1] counts the nodes of depth d, then becomes where depth d + 1 begins. */
	size_t deepest = 0;
	for (size_t row = 0; row < table->count; row++) {
		depth[row + 1] = depth[table_keys(table, row)[NODE_PARENT]] + 1;
		if (!ids[row + 1])
			continue;
		if (depth[row + 1] > deepest)
			deepest = depth[row + 1];
		level[depth[row + 1]]++;
		rows.count++;
	}
	for (size_t d = 1; d <= deepest; d++)
		level[d] += level[d - 1];
	for (size_t row = table->count; row-- > 0;)
		if (ids[row + 1])
			rows.order[--level[depth[row + 1]]] = (uint32_t)row;
	for (size_t d = 1; d <= deepest; d++) {
		size_t first = level[d];
		size_t end = d < deepest ? level[d + 1] : rows.count;
		for (size_t i = first; i < end; i++) {
			uint32_t row = rows.order[i];
			renumber_row(table, row, layout, map, rows.keys + row * rows.key_slots,
				     rows.values + row * rows.value_slots);
		}
		int ret = add_sorted(&rows, first, end - first, out, ids);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int compare_tables(const void *a, const void *b)
{
	return strcmp((*(const struct table *const *)a)->name,
		      (*(const struct table *const *)b)->name);
}

static int number_tables(const struct profile *profile, struct profile *out,
			 struct renumbering *map)
{
	CLEANUP(free_pointer) struct table **order = calloc(profile->table_count, sizeof(*order));
	if (!order)
		return -ENOMEM;
	memcpy(order, profile->tables, profile->table_count * sizeof(*order));
	qsort(order + PROFILE_KNOWN_TABLES, profile->table_count - PROFILE_KNOWN_TABLES,
	      sizeof(*order), compare_tables);
	for (size_t i = 0; i < profile->table_count; i++) {
		const struct table *table = order[i];
		size_t known = 0;
		if (i < PROFILE_KNOWN_TABLES)
			profile_columns((enum profile_table)i, &known);
		struct layout layout;
		layout_of(table, known, &layout);
		struct table *made =
			profile_add_table(out, table->name, layout.columns, layout.count);
		if (!made)
			return -ENOMEM;
		for (size_t c = made->column_count; c < layout.count; c++) {
			int ret = table_add_column(made, &layout.columns[c]);
			if (ret < 0)
				return ret;
		}
		uint32_t *ids = i < PROFILE_DICTIONARIES ? map->dictionaries[i] : NULL;
		int ret = i == PROFILE_NODE ? number_nodes(table, made, &layout, map, ids)
					    : number_rows(table, made, &layout, map, ids);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int profile_canonical(const struct profile *profile, struct profile **out)
{
	CLEANUP(renumbering_release) struct renumbering map = { 0 };
	CLEANUP(profile_freep) struct profile *made = profile_new();
	if (!made || renumbering_init(&map, profile) < 0)
		return -ENOMEM;
	mark(profile, &map);
	int ret = number_bytes(profile, made, &map);
	if (ret == 0)
		ret = number_tables(profile, made, &map);
	if (ret < 0)
		return ret;
	*out = made;
	made = NULL; /* the caller's from here on */
	return 0;
}
