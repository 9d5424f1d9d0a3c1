#include "store/profile_reader_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/column_span.h"
#include "store/declaration.h"
#include "store/profile_writer.h"
#include "store/seal.h"
#include "store/sqlite_guard.h"

int load_chunk_places(struct load *load)
{
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code =
		sqlite3_prepare_v2(load->db, "SELECT rowid,relation,event,length(data) FROM chunk",
				   -1, &statement, NULL);
	int64_t previous = 0;
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		if (array_reserve(&load->chunks, &load->chunk_capacity, load->chunk_count,
				  sizeof(*load->chunks)) < 0)
			return load_out_of_memory(load);
		struct chunk_place place = { sqlite3_column_int64(statement, 0),
					     sqlite3_column_int64(statement, 1),
					     sqlite3_column_int64(statement, 2),
					     (uint64_t)sqlite3_column_int64(statement, 3) };
		if (place.rowid <= previous)
			return load_fault(load, "the chunks are out of order");
		previous = place.rowid;
		load->chunks[load->chunk_count++] = place;
	}
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, "chunk");
}

static int spend_memory(struct load *load, uint64_t count, uint64_t each)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, each + PROFILE_UNPACK_ROW_BYTES, &size) ||
	    size > load->unpack_left)
		return error_set(load->err, -EBADMSG,
				 "profile '%s' unpacks to more than any profile of its size does",
				 load->options->name);
	load->unpack_left -= size;
	return 0;
}

/* ---- the byte pool */

static int add_entries(struct load *load, const struct chunk *chunk, struct buffer *begun,
		       int64_t rowid)
{
	const uint8_t *bytes = chunk->bytes.data;
	size_t left = chunk->bytes.size;
	for (size_t i = 0; i < chunk->count; i++) {
		uint64_t id = chunk->numbers[2 * i];
		uint64_t size = chunk->numbers[2 * i + 1];
		size_t before = i == 0 ? begun->size : 0;
		if (size < before || size - before > left)
			return load_fault(load,
					  "chunk %lld (bytes): its entries do not fit its bytes",
					  (long long)rowid);
		int ret = spend_memory(load, 1, size);
		if (ret < 0)
			return ret;
		struct span entry = { bytes, size };
		if (before) {
			buffer_append(begun, bytes, size - before);
			if (buffer_failed(begun))
				return load_out_of_memory(load);
			entry.data = begun->data;
		}
		bytes += size - before;
		left -= size - before;
		if (id == 0 || id > load->pool_size || load->pool[id])
			return load_fault(load, "chunk %lld (bytes): an entry's number is wrong",
					  (long long)rowid);
		size_t known = load->profile->bytes.count;
		if (profile_add_bytes(load->profile, entry, &load->pool[id]) < 0)
			return load_out_of_memory(load);
		if (load->profile->bytes.count == known) {
			/* Else two rows that differ in the file could be one here. */
			load->pool[id] = 0;
			return load_fault(load, "chunk %lld (bytes): an entry is there twice",
					  (long long)rowid);
		}
	}
	buffer_empty(begun);
	return left ? load_fault(load, "chunk %lld (bytes): it has bytes left over",
				 (long long)rowid)
		    : 0;
}

/* Whether a chunk holds nothing but contents that the reader was asked to leave out. */
static bool is_left_out(const struct load *load, const struct chunk_place *place)
{
	return load->options->without_code && place->relation == 0 &&
	       (place->event == POOL_GROUP_CODE || place->event == POOL_GROUP_OTHER);
}

/* The chunks of one relation, one after the other; finalize_walk() after it. */
struct walk {
	const char *name;
	int64_t relation; /* 0: the byte pool */
	const struct column *columns;
	size_t column_count;
	sqlite3_stmt *statement;
	size_t at;	    /* in load->chunks */
	struct chunk chunk; /* the last that was decoded, and where it is from */
	int64_t rowid;
};

static void finalize_walk(struct walk *walk)
{
	sqlite3_finalize(walk->statement);
}

static int begin_walk(struct load *load, struct walk *walk)
{
	int code = sqlite3_prepare_v2(load->db, "SELECT data FROM chunk WHERE rowid=?", -1,
				      &walk->statement, NULL);
	return code == SQLITE_OK ? 0 : load_sqlite_fault(load, code, "chunk");
}

/* 1, 0 when it is damaged, which is told, or negative. */
static int decode_place(struct load *load, struct walk *walk, const struct chunk_place *place)
{
	walk->rowid = place->rowid;
	sqlite3_reset(walk->statement);
	sqlite3_bind_int64(walk->statement, 1, place->rowid);
	int code = sqlite3_step(walk->statement);
	load->counts->chunks++;
	if (code != SQLITE_ROW) {
		load->counts->chunks_damaged++;
		return load_sqlite_fault(load, code == SQLITE_DONE ? SQLITE_CORRUPT : code,
					 walk->name);
	}
	struct span stored = column_span(walk->statement, 0);
	const char *what = sqlite3_column_type(walk->statement, 0) == SQLITE_BLOB
				   ? chunk_decode(&load->coder, stored, walk->columns,
						  walk->column_count, &walk->chunk)
				   : "it is no blob";
	if (walk->relation ? strcmp(walk->name, "stash") == 0 : place->event > 0)
		load->counts->stash_bytes += stored.size;
	if (!what)
		return 1;
	if (what == chunk_out_of_memory)
		return load_out_of_memory(load);
	load->counts->chunks_damaged++;
	return load_fault(load, "chunk %lld (%s): %s", (long long)walk->rowid, walk->name, what);
}

/* The next chunk that can be decoded: 1, 0 at the end, or negative. */
static int next_chunk(struct load *load, struct walk *walk)
{
	while (walk->at < load->chunk_count) {
		const struct chunk_place *place = &load->chunks[walk->at++];
		if (place->relation != walk->relation)
			continue;
		if (is_left_out(load, place)) {
			load->entries_left_out = true;
			load->counts->stash_bytes += place->size;
			continue;
		}
		int ret = decode_place(load, walk, place);
		if (ret)
			return ret;
	}
	return 0;
}

/* The file's numbers are dense: no more than all chunks together can hold. */
static int size_pool(struct load *load)
{
	size_t chunks = 0;
	for (size_t i = 0; i < load->chunk_count; i++)
		chunks += load->chunks[i].relation == 0;
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT sum(rows) FROM chunk WHERE relation=0", -1,
				      &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	uint64_t declared = UINT64_MAX;
	if (code == SQLITE_ROW)
		declared = (uint64_t)sqlite3_column_int64(statement, 0);
	int ret = code == SQLITE_ROW ? 0 : load_sqlite_fault(load, code, "chunk");
	if (ret < 0)
		return ret;
	if (declared > (uint64_t)chunks * CHUNK_MAX_ROWS)
		declared = (uint64_t)chunks * CHUNK_MAX_ROWS;
	ret = spend_memory(load, declared, 0);
	if (ret < 0)
		return ret;
	load->pool_size = declared;
	load->pool = calloc(declared + 1, sizeof(*load->pool));
	return load->pool ? 0 : load_out_of_memory(load);
}

int load_pool(struct load *load)
{
	int ret = size_pool(load);
	CLEANUP(finalize_walk) struct walk walk = { .name = "bytes" };
	CLEANUP(buffer_release) struct buffer begun = { 0 };
	if (ret == 0)
		ret = begin_walk(load, &walk);
	if (ret < 0)
		return ret;
	while ((ret = next_chunk(load, &walk)) > 0) {
		if (walk.chunk.kind == CHUNK_PIECE) {
			ret = spend_memory(load, 1, walk.chunk.bytes.size);
			buffer_append(&begun, walk.chunk.bytes.data, walk.chunk.bytes.size);
			if (ret == 0 && buffer_failed(&begun))
				ret = load_out_of_memory(load);
		} else {
			ret = add_entries(load, &walk.chunk, &begun, walk.rowid);
		}
		if (ret < 0)
			return ret;
	}
	if (ret == 0 && begun.size)
		ret = load_fault(load, "the byte pool ends inside an entry");
	return ret;
}

/* ---- rows */

/* The table that a reference points into; its size bounds the number. */
static const struct table *target_of(const struct load *load, enum column_type type)
{
	return load->profile->tables[PROFILE_EVENT + (type - COLUMN_EVENT)];
}

static const char bytes_left_out[] = "it names bytes that lie among code";

/* NULL when the number may stand in that column; bytes become our number. */
static const char *take_key(const struct load *load, const struct table *table,
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
		const struct table *target = target_of(load, column->type);
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

/* The keys of a row, taken from *numbers on. NULL, or what is wrong with one. */
static const char *take_keys(const struct load *load, const struct relation *relation,
			     const uint64_t **numbers, uint64_t *keys, bool *left_out)
{
	const char *what = NULL;
	*left_out = false;
	for (size_t i = 0; !what && i < relation->column_count; i++) {
		const struct column *column = &relation->columns[i];
		if (column->rule != RULE_KEY)
			continue;
		uint64_t key = *(*numbers)++;
		what = take_key(load, relation->table, column, &key);
		keys[relation->slots[i]] = key;
		*left_out = what == bytes_left_out && relation->slots[i] == STASH_CONTENT;
	}
	return what;
}

/* The values of a row, from behind its keys. */
static void take_values(const struct relation *relation, const uint64_t *numbers, uint64_t *values)
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
	int ret = spend_memory(load, chunk->count,
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
		const char *what = take_keys(load, relation, &numbers, keys, &left_out);
		if (left_out && may_be_left_out(load, relation, keys)) {
			load->counts->rows_left_out++;
			continue;
		}
		if (!what)
			take_values(relation, numbers, values);
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
		take_values(relation, numbers, table->values + position * table->value_slots);
	}
	return 0;
}

static int read_chunks(struct load *load, const struct relation *relation)
{
	CLEANUP(finalize_walk)
	struct walk walk = { .name = relation->name,
			     .relation = relation->id,
			     .columns = relation->columns,
			     .column_count = relation->column_count };
	struct order order = { 0 };
	int ret = begin_walk(load, &walk);
	if (ret < 0)
		return ret;
	while ((ret = next_chunk(load, &walk)) > 0) {
		ret = walk.chunk.kind == CHUNK_ROWS
			      ? add_chunk_rows(load, relation, &walk.chunk, &order, walk.rowid)
			      : update_rows(load, relation, &walk.chunk, walk.rowid);
		if (ret < 0)
			return ret;
	}
	return ret;
}

static const char *take_cell(struct load *load, sqlite3_stmt *statement, int at,
			     const struct column *column, uint64_t *out)
{
	int type = sqlite3_column_type(statement, at);
	switch (column->type) {
	case COLUMN_BYTES: {
		uint32_t id;
		*out = 0;
		if (type == SQLITE_NULL)
			return NULL;
		if (type != SQLITE_TEXT && type != SQLITE_BLOB)
			return "a text is no text";
		if (profile_add_bytes(load->profile, column_span(statement, at), &id) < 0)
			return chunk_out_of_memory;
		*out = id;
		return NULL;
	}
	case COLUMN_U128: {
		struct span wide = column_span(statement, at);
		if (type != SQLITE_BLOB || wide.size != 16)
			return "a 128-bit number is none";
		out[0] = out[1] = 0;
		for (int i = 0; i < 16; i++)
			out[i < 8] = (out[i < 8] << 8) | ((const uint8_t *)wide.data)[i];
		return NULL;
	}
	case COLUMN_OPTIONAL:
		*out = type == SQLITE_NULL ? 0 : (uint64_t)sqlite3_column_int64(statement, at) + 1;
		return type == SQLITE_NULL || type == SQLITE_INTEGER ? NULL
								     : "a number is no number";
	default:
		*out = (uint64_t)sqlite3_column_int64(statement, at);
		if (type != SQLITE_INTEGER)
			return "a number is no number";
		if (column_is_reference(column->type) &&
		    *out > target_of(load, column->type)->count)
			return "it refers to a row that is not there";
		return NULL;
	}
}

static int add_row(struct load *load, const struct relation *relation, sqlite3_stmt *statement)
{
	struct table *table = relation->table;
	int64_t id = sqlite3_column_int64(statement, 0);
	uint64_t keys[TABLE_MAX_COLUMNS] = { 0 };
	uint64_t values[TABLE_MAX_COLUMNS * 2] = { 0 };
	int at = declaration_is_named(relation->name) ? 2 : 1;
	const char *what = id != (int64_t)table->count + 1 ? "its number is wrong" : NULL;
	uint64_t text_bytes = 0;
	for (size_t i = 0; !what && i < relation->column_count; i++, at++) {
		const struct column *column = &relation->columns[i];
		uint64_t *row = column->rule == RULE_KEY ? keys : values;
		what = take_cell(load, statement, at, column, row + relation->slots[i]);
		if (column->type == COLUMN_BYTES)
			text_bytes += (uint64_t)sqlite3_column_bytes(statement, at);
	}
	if (!what && table == load->profile->tables[PROFILE_EVENT] &&
	    keys[EVENT_SCALE] > PROFILE_MOST_DECIMALS)
		what = "its scale is above 18";
	if (what == chunk_out_of_memory)
		return load_out_of_memory(load);
	int ret = spend_memory(load, 1, text_bytes + (table->key_slots + table->value_slots) * 8);
	if (ret < 0)
		return ret;
	uint32_t position = 0;
	size_t before = table->count;
	if (!what && table_add(table, keys, values, &position) < 0)
		return load_out_of_memory(load);
	if (!what && position != before)
		what = "it is there twice";
	if (!what) {
		load->counts->rows++;
		return 0;
	}
	load->counts->rows_dropped++;
	return load_fault(load, "%s %lld: %s", relation->name, (long long)id, what);
}

static int read_rows(struct load *load, const struct relation *relation)
{
	char sql[64];
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", relation->name);
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		int ret = add_row(load, relation, statement);
		if (ret < 0)
			return ret;
	}
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, relation->name);
}

int load_relation(struct load *load, const struct relation *relation)
{
	return declaration_is_rows(relation->name) ? read_rows(load, relation)
						   : read_chunks(load, relation);
}
