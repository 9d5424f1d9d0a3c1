/* Rows of the tables that are kept as chunks: what is decoded becomes rows of ours. */
#include "store/profile_reader_private.h"

#include <string.h>

#include "base/cleanup.h"
#include "symbol/record.h"

static const char bytes_left_out[] = "it names bytes that lie among code";

/* A key of the file in our numbers: of the pool, or of a row. NULL, or what is wrong with it. */
static const char *translate_key(const struct load *load, const struct table *table,
				 const struct column *column, uint64_t *value)
{
	if (column->type == COLUMN_BYTES && *value) {
		if (*value > load->pool_size)
			return "it names bytes that are not there";
		if (!load->pool[*value])
			return load->entries_left_out ? bytes_left_out
						      : "it names bytes that are not there";
		*value = load->pool[*value];
	} else if (column_is_reference(column->type)) {
		const struct table *target = load_target(load, column->type);
		if (*value > target->count)
			return target == table ? "a node's parent comes after it"
					       : "it refers to a row that is not there";
	}
	return NULL;
}

/*
 * Whether all rows of a table so far came in rising order, as in closed files:
 * then none can be there twice, and no index is needed to know it.
 */
struct order {
	bool broken;
	bool begun;
	uint64_t last[TABLE_MAX_COLUMNS];
};

/* Whether these keys come after all before. */
static bool rises(struct order *order, const uint64_t *keys, size_t count)
{
	if (order->broken)
		return false;
	int sign = order->begun ? 0 : 1;
	for (size_t i = 0; sign == 0 && i < count; i++)
		sign = (keys[i] > order->last[i]) - (keys[i] < order->last[i]);
	order->begun = true;
	order->broken = sign <= 0;
	memcpy(order->last, keys, count * sizeof(*keys));
	return sign > 0;
}

/* 0, or 1 when the row is there already, or -ENOMEM. */
static int add_new_row(struct table *table, const uint64_t *keys, const uint64_t *values,
		       bool rising)
{
	if (rising)
		return table_append(table, keys, values);
	uint32_t position;
	size_t before = table->count;
	int ret = table_add(table, keys, values, &position);
	return ret < 0 ? ret : position != before;
}

/* The stash's rows from the code kind on are the only ones that name what is left out. */
static bool may_be_left_out(const struct load *load, const struct relation *relation,
			    const uint64_t *keys)
{
	return relation->table == load->profile->tables[PROFILE_STASH] &&
	       keys[STASH_KIND] >= RECORD_CODE;
}

/* Reads the keys of a row, and moves *numbers behind them. *left_out: the fault is only that its
 * content was left out. NULL, or what is wrong with one. */
static const char *read_keys(const struct load *load, const struct relation *relation,
			     const uint64_t **numbers, uint64_t *keys, bool *left_out)
{
	const char *what = NULL;
	*left_out = false;
	for (size_t i = 0; !what && i < relation->column_count; i++) {
		const struct column *column = &relation->columns[i];
		if (column->rule != RULE_KEY)
			continue;
		uint64_t key = *(*numbers)++;
		what = translate_key(load, relation->table, column, &key);
		keys[relation->slots[i]] = key;
		*left_out = what == bytes_left_out && relation->slots[i] == STASH_CONTENT;
	}
	return what;
}

/* Copies the values of a row to their slots; `numbers` begins behind its keys. */
static void copy_values(const struct relation *relation, const uint64_t *numbers, uint64_t *values)
{
	for (size_t i = 0; i < relation->column_count; i++) {
		const struct column *column = &relation->columns[i];
		if (column->rule == RULE_KEY)
			continue;
		for (size_t j = 0; j < column_slots(column->type); j++)
			values[relation->slots[i] + j] = *numbers++;
	}
}

static size_t count_keys(const struct relation *relation)
{
	size_t count = 0;
	for (size_t i = 0; i < relation->column_count; i++)
		count += relation->columns[i].rule == RULE_KEY;
	return count;
}

static int add_chunk_rows(struct load *load, const struct relation *relation,
			  const struct chunk *chunk, struct order *order, int64_t rowid)
{
	size_t key_count = count_keys(relation);
	struct table *table = relation->table;
	int ret = load_spend_memory(load, chunk->count,
				    (table->key_slots + table->value_slots) * sizeof(uint64_t));
	if (ret < 0)
		return ret;
	/* Columns that the file lacks stay 0; the others are filled row by row. */
	uint64_t keys[TABLE_MAX_COLUMNS] = { 0 };
	uint64_t values[TABLE_MAX_COLUMNS * 2] = { 0 };
	for (size_t row = 0; row < chunk->count; row++) {
		const uint64_t *numbers = chunk->numbers + row * chunk->stride;
		bool left_out;
		bool rising = rises(order, numbers, key_count);
		const char *what = read_keys(load, relation, &numbers, keys, &left_out);
		if (left_out && may_be_left_out(load, relation, keys)) {
			load->counts->rows_left_out++;
			continue;
		}
		if (!what)
			copy_values(relation, numbers, values);
		int added = what ? 0 : add_new_row(table, keys, values, rising);
		if (added < 0)
			return load_out_of_memory(load);
		if (added)
			what = "it is there twice";
		if (!what) {
			load->counts->rows++;
			continue;
		}
		load->counts->rows_dropped++;
		ret = load_fault(load, "chunk %lld (%s): row %zu: %s", (long long)rowid,
				 relation->name, row, what);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int update_rows(struct load *load, const struct relation *relation,
		       const struct chunk *chunk, int64_t rowid)
{
	struct table *table = relation->table;
	if (load->counts->rows_left_out && table == load->profile->tables[PROFILE_STASH])
		return load_fault(load,
				  "chunk %lld (%s): it renews rows beside code that lies apart",
				  (long long)rowid, relation->name);
	for (size_t row = 0; row < chunk->count; row++) {
		const uint64_t *numbers = chunk->numbers + row * chunk->stride;
		uint64_t position = *numbers++;
		if (position >= table->count) {
			load->counts->rows_dropped++;
			int ret = load_fault(
				load, "chunk %lld (%s): row %zu: it renews a row that is not there",
				(long long)rowid, relation->name, row);
			if (ret < 0)
				return ret;
			continue;
		}
		copy_values(relation, numbers, table->values + position * table->value_slots);
	}
	return 0;
}

int load_chunk_rows(struct load *load, const struct relation *relation)
{
	CLEANUP(load_walk_release)
	struct chunk_walk walk = { .name = relation->name,
				   .relation = relation->id,
				   .columns = relation->columns,
				   .column_count = relation->column_count };
	struct order order = { 0 };
	int ret = load_walk_begin(load, &walk);
	if (ret < 0)
		return ret;
	while ((ret = load_walk_next(load, &walk)) > 0) {
		ret = walk.chunk.kind == CHUNK_ROWS
			      ? add_chunk_rows(load, relation, &walk.chunk, &order, walk.rowid)
			      : update_rows(load, relation, &walk.chunk, walk.rowid);
		if (ret < 0)
			return ret;
	}
	return ret;
}
