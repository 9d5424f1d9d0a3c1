#include "profile/profile.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/id_map.h"

/* Stores the slot in `into` of each column of `from`. Columns that `into` lacks are added to it. */
static int map_columns(struct table *into, const struct table *from, size_t *slots,
		       struct error *err)
{
	for (size_t i = 0; i < from->column_count; i++) {
		const struct column *column = &from->columns[i];
		int at = table_find_column(into, column->name);
		if (at < 0) {
			int ret = table_add_column(into, column);
			if (ret < 0)
				return error_set(err, ret, "cannot add column '%s' to table '%s'",
						 column->name, into->name);
			at = (int)into->column_count - 1;
		}
		if (into->columns[at].type != column->type ||
		    into->columns[at].rule != column->rule)
			return error_set(err, -EBADMSG,
					 "column '%s' of table '%s' is declared in two ways",
					 column->name, into->name);
	}
	for (size_t i = 0; i < from->column_count; i++)
		slots[i] = table_column_slot(
			into, (size_t)table_find_column(into, from->columns[i].name));
	return 0;
}

/* Translates one key; texts are added to `into` when they are first seen. */
static int translate(struct profile *into, const struct profile *from, const struct id_map *map,
		     enum column_type type, uint64_t value, uint64_t *out)
{
	uint32_t *ids = id_map_of(map, type);
	if (type == COLUMN_BYTES && value && !ids[value]) {
		int ret = profile_add_bytes(into, profile_bytes(from, value), &ids[value]);
		if (ret < 0)
			return ret;
	}
	*out = ids ? ids[value] : value;
	return 0;
}

/* Called with each row of `into` that was added or changed. */
struct listener {
	profile_note_row note; /* may be NULL */
	void *context;
};

static int merge_table(struct profile *into, size_t index, const struct profile *from,
		       const struct table *other, const struct id_map *map, uint32_t *ids,
		       const struct listener *listener, struct error *err)
{
	struct table *table = into->tables[index];
	size_t slots[TABLE_MAX_COLUMNS];
	int ret = map_columns(table, other, slots, err);
	if (ret < 0)
		return ret;
	for (size_t row = 0; row < other->count; row++) {
		uint64_t keys[TABLE_MAX_COLUMNS] = { 0 };
		uint64_t values[TABLE_MAX_COLUMNS * 2] = { 0 };
		const uint64_t *key = table_keys(other, row);
		const uint64_t *value = table_values(other, row);
		for (size_t i = 0; i < other->column_count; i++) {
			const struct column *column = &other->columns[i];
			if (column->rule == RULE_KEY) {
				ret = translate(into, from, map, column->type, *key++,
						&keys[slots[i]]);
				if (ret < 0)
					return error_set(err, ret,
							 "out of memory merging profiles");
				continue;
			}
			for (size_t j = 0; j < column_slots(column->type); j++)
				values[slots[i] + j] = *value++;
		}
		uint32_t position;
		ret = table_add(table, keys, values, &position);
		if (ret < 0)
			return error_set(err, ret, "out of memory merging profiles");
		if (ids)
			ids[row + 1] = position + 1;
		if (listener->note)
			ret = listener->note(listener->context, index, position);
		if (ret < 0)
			return error_set(err, ret, "out of memory merging profiles");
	}
	return 0;
}

static size_t index_of(const struct profile *profile, const struct table *table)
{
	size_t index = 0;
	while (profile->tables[index] != table)
		index++;
	return index;
}

int profile_merge(struct profile *into, const struct profile *from, struct error *err)
{
	return profile_merge_noting(into, from, NULL, NULL, err);
}

int profile_merge_noting(struct profile *into, const struct profile *from, profile_note_row note,
			 void *context, struct error *err)
{
	const struct listener listener = { note, context };
	CLEANUP(id_map_release) struct id_map map = { 0 };
	if (id_map_init(&map, from) < 0)
		return error_set(err, -ENOMEM, "out of memory merging profiles");
	/* Dictionaries come first, each after those it refers to; a node's parent has a lower id.
	 */
	for (size_t i = 0; i < from->table_count; i++) {
		const struct table *other = from->tables[i];
		struct table *table =
			profile_add_table(into, other->name, other->columns, other->column_count);
		if (!table)
			return error_set(err, -ENOMEM, "out of memory merging profiles");
		uint32_t *ids = i < PROFILE_DICTIONARIES ? map.dictionaries[i] : NULL;
		int ret = merge_table(into, index_of(into, table), from, other, &map, ids,
				      &listener, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
