#include "profile/canonical.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void canonical_release(struct canonical *canonical)
{
	id_map_release(&canonical->ids);
	free(canonical->sources);
	profile_free(canonical->made);
	*canonical = (struct canonical){ 0 };
}

static void mark_row(const struct table *table, size_t row, struct canonical *map)
{
	const uint64_t *keys = table_keys(table, row);
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].rule != RULE_KEY)
			continue;
		uint32_t *ids = id_map_of(&map->ids, table->columns[i].type);
		if (ids && *keys)
			ids[*keys] = 1;
		keys++;
	}
}

/* Gives every id that a kept row refers to the number 1, from the relations down to the bytes. */
static void mark(struct canonical *map)
{
	const struct profile *profile = map->from;
	for (size_t i = PROFILE_DICTIONARIES; i < profile->table_count; i++)
		for (size_t row = 0; row < profile->tables[i]->count; row++)
			mark_row(profile->tables[i], row, map);
	for (size_t row = 0; row < profile->tables[PROFILE_EVENT]->count; row++)
		map->ids.dictionaries[PROFILE_EVENT][row + 1] = 1;
	/* The last dictionary refers to the ones before, and a node to nodes of lower ids. */
	for (size_t i = PROFILE_DICTIONARIES; i-- > 0;)
		for (size_t row = profile->tables[i]->count; row-- > 0;)
			if (map->ids.dictionaries[i][row + 1])
				mark_row(profile->tables[i], row, map);
}

static int compare_bytes(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	return span_compare(profile_bytes(profile, *(const uint32_t *)a),
			    profile_bytes(profile, *(const uint32_t *)b));
}

/* Whether the bytes are copied, or borrowed from the profile that they are in. */
enum ownership { COPIED, BORROWED };

static int number_bytes(struct canonical *map, enum ownership ownership)
{
	const struct profile *from = map->from;
	struct byte_pool *pool = &map->made->bytes;
	CLEANUP(free_pointer) uint32_t *order = calloc(from->bytes.count + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	size_t count = 0;
	for (uint32_t id = 1; id <= from->bytes.count; id++)
		if (map->ids.bytes[id])
			order[count++] = id;
	qsort_r(order, count, sizeof(*order), compare_bytes, (void *)from);
	if (ownership == BORROWED) {
		pool->spans = calloc(count + 1, sizeof(*pool->spans));
		if (!pool->spans)
			return -ENOMEM;
		pool->capacity = count + 1;
	}
	for (size_t i = 0; i < count; i++) {
		struct span bytes = profile_bytes(from, order[i]);
		uint32_t *id = &map->ids.bytes[order[i]];
		if (ownership == BORROWED)
			pool->spans[(*id = (uint32_t)++pool->count) - 1] = bytes;
		else if (profile_add_bytes(map->made, bytes, id) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * A table's columns in canonical order: the known ones as declared, others by
 * name. `slots` says where in a row of the original each one is.
 */
struct layout {
	struct column columns[TABLE_MAX_COLUMNS];
	size_t slots[TABLE_MAX_COLUMNS];
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
		layout->slots[i] = table_column_slot(
			table, (size_t)table_find_column(table, layout->columns[i].name));
}

static void renumber_row(const struct table *table, size_t row, const struct layout *layout,
			 const struct canonical *map, uint64_t *keys, uint64_t *values)
{
	const uint64_t *old_keys = table_keys(table, row);
	const uint64_t *old_values = table_values(table, row);
	for (size_t i = 0; i < layout->count; i++) {
		const struct column *column = &layout->columns[i];
		size_t slot = layout->slots[i];
		if (column->rule == RULE_KEY) {
			uint64_t value = old_keys[slot];
			const uint32_t *ids = id_map_of(&map->ids, column->type);
			*keys++ = ids ? ids[value] : value;
			continue;
		}
		for (size_t j = 0; j < column_slots(column->type); j++)
			*values++ = old_values[slot + j];
	}
}

/* The rows of one table while they are copied, renumbered and sorted. */
struct ordering {
	const struct table *from;
	struct table *made;
	const struct layout *layout;
	uint32_t *old;	  /* by row of `made`: the row of `from` that it was copied from */
	uint32_t *sorted; /* by row of `made`: the row that comes there when sorted */
	size_t count;
};

static void ordering_release(struct ordering *ordering)
{
	free(ordering->old);
	free(ordering->sorted);
}

static int ordering_init(struct ordering *ordering)
{
	size_t room = ordering->made->count + 1;
	ordering->old = calloc(room, sizeof(*ordering->old));
	ordering->sorted = calloc(room, sizeof(*ordering->sorted));
	return ordering->old && ordering->sorted ? 0 : -ENOMEM;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct table *table = context;
	const uint64_t *left = table_keys(table, *(const uint32_t *)a);
	const uint64_t *right = table_keys(table, *(const uint32_t *)b);
	for (size_t i = 0; i < table->key_slots; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static void copy_row(struct table *table, size_t to, const uint64_t *keys, const uint64_t *values)
{
	memcpy(table->keys + to * table->key_slots, keys, table->key_slots * sizeof(*keys));
	if (table->value_slots)
		memcpy(table->values + to * table->value_slots, values,
		       table->value_slots * sizeof(*values));
}

/* Moves each row to its place in sorted order without a second copy of the table, along the cycles
 * of the permutation `sorted`, which is the identity afterwards. */
static void move_rows(struct ordering *ordering, size_t first, size_t end)
{
	struct table *table = ordering->made;
	uint32_t *sorted = ordering->sorted;
	uint64_t keys[TABLE_MAX_COLUMNS];
	uint64_t values[TABLE_MAX_COLUMNS * 2];
	for (size_t i = first; i < end; i++) {
		if (sorted[i] == i)
			continue;
		memcpy(keys, table_keys(table, i), table->key_slots * sizeof(*keys));
		if (table->value_slots)
			memcpy(values, table_values(table, i),
			       table->value_slots * sizeof(*values));
		size_t to = i;
		while (sorted[to] != i) {
			size_t from = sorted[to];
			copy_row(table, to, table_keys(table, from), table_values(table, from));
			sorted[to] = (uint32_t)to;
			to = from;
		}
		copy_row(table, to, keys, values);
		sorted[to] = (uint32_t)to;
	}
}

/* Makes the rows from `first` to `end`, whose `old` is set, and sorts them. Writes their numbers to
 * `ids`, by id in the old table, unless it is NULL. */
static void make_rows(struct ordering *ordering, size_t first, size_t end,
		      const struct canonical *map, uint32_t *ids)
{
	struct table *made = ordering->made;
	for (size_t i = first; i < end; i++) {
		/* no arithmetic with NULL where there are no values */
		uint64_t *values =
			made->value_slots ? made->values + i * made->value_slots : made->values;
		renumber_row(ordering->from, ordering->old[i], ordering->layout, map,
			     made->keys + i * made->key_slots, values);
		ordering->sorted[i] = (uint32_t)i;
	}
	/* Keys that differed still do: ids were only renumbered, so the order is complete. */
	qsort_r(ordering->sorted + first, end - first, sizeof(*ordering->sorted), compare_rows,
		made);
	for (size_t i = first; i < end && ids; i++)
		ids[ordering->old[ordering->sorted[i]] + 1] = (uint32_t)i + 1;
	move_rows(ordering, first, end);
}

/* Makes all rows of a table that are kept. `ids` is NULL for a relation, whose rows are all kept.
 */
static int number_rows(struct ordering *ordering, const struct canonical *map, uint32_t *ids)
{
	for (size_t row = 0; row < ordering->from->count; row++)
		if (!ids || ids[row + 1])
			ordering->old[ordering->count++] = (uint32_t)row;
	make_rows(ordering, 0, ordering->count, map, ids);
	return 0;
}

/*
 * Nodes are numbered level by level, each level sorted by parent and frame, so
 * that a parent's id stays below its children's.
 */
static int number_nodes(struct ordering *ordering, const struct canonical *map, uint32_t *ids)
{
	const struct table *table = ordering->from;
	CLEANUP(free_pointer) uint32_t *depth = calloc(table->count + 1, sizeof(*depth));
	CLEANUP(free_pointer) size_t *level = calloc(table->count + 2, sizeof(*level));
	if (!depth || !level)
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
		ordering->count++;
	}
	for (size_t d = 1; d <= deepest; d++)
		level[d] += level[d - 1];
	for (size_t row = table->count; row-- > 0;)
		if (ids[row + 1])
			ordering->old[--level[depth[row + 1]]] = (uint32_t)row;
	for (size_t d = 1; d <= deepest; d++)
		make_rows(ordering, level[d], d < deepest ? level[d + 1] : ordering->count, map,
			  ids);
	return 0;
}

static int compare_tables(const void *a, const void *b)
{
	return strcmp((*(const struct table *const *)a)->name,
		      (*(const struct table *const *)b)->name);
}

static size_t count_kept(const struct canonical *canonical, size_t index)
{
	const struct table *table = canonical->sources[index];
	if (index >= PROFILE_DICTIONARIES)
		return table->count;
	size_t count = 0;
	for (size_t row = 0; row < table->count; row++)
		count += canonical->ids.dictionaries[index][row + 1] != 0;
	return count;
}

static void layout_of_source(const struct canonical *canonical, size_t index, struct layout *layout)
{
	size_t known = 0;
	if (index < PROFILE_KNOWN_TABLES)
		profile_columns((enum profile_table)index, &known);
	layout_of(canonical->sources[index], known, layout);
}

static int declare_tables(struct canonical *canonical)
{
	const struct profile *from = canonical->from;
	canonical->sources = calloc(from->table_count, sizeof(struct table *));
	if (!canonical->sources)
		return -ENOMEM;
	memcpy(canonical->sources, from->tables, from->table_count * sizeof(struct table *));
	qsort(canonical->sources + PROFILE_KNOWN_TABLES, from->table_count - PROFILE_KNOWN_TABLES,
	      sizeof(struct table *), compare_tables);
	for (size_t i = 0; i < from->table_count; i++) {
		struct layout layout;
		layout_of_source(canonical, i, &layout);
		struct table *made = profile_add_table(canonical->made, canonical->sources[i]->name,
						       layout.columns, layout.count);
		if (!made)
			return -ENOMEM;
		for (size_t c = made->column_count; c < layout.count; c++) {
			int ret = table_add_column(made, &layout.columns[c]);
			if (ret < 0)
				return ret;
		}
		table_drop_rows(made);
		made->count = count_kept(canonical, i);
		made->unindexed = true;
	}
	return 0;
}

int canonical_fill(struct canonical *canonical, size_t index)
{
	struct layout layout;
	CLEANUP(ordering_release)
	struct ordering ordering = { .from = canonical->sources[index],
				     .made = canonical->made->tables[index],
				     .layout = &layout };
	uint32_t *ids = index < PROFILE_DICTIONARIES ? canonical->ids.dictionaries[index] : NULL;
	layout_of_source(canonical, index, &layout);
	if (table_make_rows(ordering.made) < 0 || ordering_init(&ordering) < 0)
		return -ENOMEM;
	return index == PROFILE_NODE ? number_nodes(&ordering, canonical, ids)
				     : number_rows(&ordering, canonical, ids);
}

void canonical_drop(struct canonical *canonical, size_t index)
{
	table_drop_rows(canonical->made->tables[index]);
}

static int begin(struct canonical *canonical, const struct profile *from, enum ownership ownership)
{
	*canonical = (struct canonical){ .from = from, .made = profile_new() };
	int ret = canonical->made ? id_map_init(&canonical->ids, from) : -ENOMEM;
	if (ret == 0) {
		mark(canonical);
		ret = number_bytes(canonical, ownership);
	}
	if (ret == 0)
		ret = declare_tables(canonical);
	if (ret < 0)
		canonical_release(canonical);
	return ret;
}

int canonical_begin(struct canonical *canonical, const struct profile *from)
{
	return begin(canonical, from, BORROWED);
}

int profile_canonical(const struct profile *profile, struct profile **out)
{
	CLEANUP(canonical_release) struct canonical canonical = { 0 };
	int ret = begin(&canonical, profile, COPIED);
	for (size_t i = 0; i < profile->table_count && ret == 0; i++)
		ret = canonical_fill(&canonical, i);
	if (ret < 0)
		return ret;
	*out = canonical.made;
	canonical.made = NULL; /* the caller's from here on */
	return 0;
}
