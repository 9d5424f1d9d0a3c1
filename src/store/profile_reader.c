#include "store/profile_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/chunk.h"
#include "store/declaration.h"
#include "store/profile_writer.h"
#include "store/seal.h"
#include "store/sqlite_guard.h"

#define ROW_TABLES 4 /* event, image, context, source */

/* One table as the file declares it, and where its columns are in ours. */
struct relation {
	int64_t id;
	char name[TABLE_NAME_SIZE];
	struct column columns[TABLE_MAX_COLUMNS];
	size_t column_count;
	struct table *table;
	size_t slots[TABLE_MAX_COLUMNS];
};

struct chunk_place {
	int64_t rowid;
	int64_t relation;
	int64_t event; /* of the pool's chunks: their group */
	uint64_t size;
};

struct load {
	sqlite3 *db;
	const struct profile_reader_options *options;
	struct error *err;
	struct profile *profile;
	struct profile_reader_counts *counts;
	struct relation *relations;
	size_t relation_count, relation_capacity;
	struct chunk_place *chunks;
	size_t chunk_count, chunk_capacity;
	uint32_t *pool; /* the file's number of an entry -> ours; 0: not there, or left out */
	size_t pool_size;
	bool entries_left_out;
	struct chunk_coder coder;
	uint64_t unpack_left;
	char *row_schemas[ROW_TABLES];
	bool schema_is_ours;
};

static const enum profile_table row_tables[ROW_TABLES] = { PROFILE_EVENT, PROFILE_IMAGE,
							   PROFILE_CONTEXT, PROFILE_SOURCE };

static void load_release(struct load *load)
{
	for (size_t i = 0; i < ROW_TABLES; i++)
		free(load->row_schemas[i]);
	free(load->relations);
	free(load->chunks);
	free(load->pool);
	chunk_coder_release(&load->coder);
	profile_free(load->profile);
}

static void finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

static int out_of_memory(struct load *load)
{
	return error_set(load->err, -ENOMEM, "out of memory reading profile '%s'",
			 load->options->name);
}

/* A fault that reading may survive: 0 to go on, or a negative errno value. */
__attribute__((format(printf, 2, 3))) static int fault(struct load *load, const char *format, ...)
{
	char sentence[512];
	va_list args;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (!load->options->fault)
		return error_set(load->err, -EBADMSG, "profile '%s' is damaged: %s",
				 load->options->name, sentence);
	load->options->fault(load->options->fault_context, sentence);
	return 0;
}

/* What SQLite said. While salvaging, a damaged table ends where it is damaged. */
static int sqlite_fault(struct load *load, int code, const char *where)
{
	int ret = guard_errno(load->db, code);
	if (ret == -EBADMSG && load->options->fault && load->schema_is_ours)
		return fault(load, "%s: %s", where, guard_reason(load->db, code));
	if (ret == -EBADMSG)
		return error_set(load->err, ret, "profile '%s' is damaged: %s (%s)",
				 load->options->name, guard_reason(load->db, code), where);
	if (ret == -ENOMEM)
		return out_of_memory(load);
	return error_set(load->err, ret, "cannot read profile '%s': %s", load->options->name,
			 guard_reason(load->db, code));
}

static int foreign_schema(struct load *load, const char *what, const char *name)
{
	return error_set(load->err, -EBADMSG,
			 "profile '%s' is damaged or forged: it has %s '%.64s' that no profile has",
			 load->options->name, what, name);
}

/* Which statement a table's must be, or NULL when it depends on the declarations. */
static const char *fixed_schema(const char *name)
{
	if (strcmp(name, "meta") == 0)
		return PROFILE_SCHEMA_META;
	if (strcmp(name, "relation") == 0)
		return PROFILE_SCHEMA_RELATION;
	return strcmp(name, "chunk") == 0 ? PROFILE_SCHEMA_CHUNK : NULL;
}

static int check_schema_row(struct load *load, const char *type, const char *name, const char *sql,
			    unsigned *fixed)
{
	if (strcmp(type, "table") != 0)
		return foreign_schema(load,
				      strcmp(type, "view") == 0	     ? "a view"
				      : strcmp(type, "index") == 0   ? "an index"
				      : strcmp(type, "trigger") == 0 ? "a trigger"
								     : "an object",
				      name);
	const char *wanted = fixed_schema(name);
	if (wanted) {
		if (strcmp(sql, wanted) != 0)
			return foreign_schema(load, "a form of table", name);
		++*fixed;
		return 0;
	}
	for (size_t i = 0; i < ROW_TABLES; i++) {
		if (strcmp(name, profile_table_name(row_tables[i])) != 0)
			continue;
		if (load->row_schemas[i])
			return foreign_schema(load, "a second table", name);
		load->row_schemas[i] = strdup(sql);
		return load->row_schemas[i] ? 0 : out_of_memory(load);
	}
	return foreign_schema(load, "a table", name);
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	return text ? text : "";
}

static int check_schema(struct load *load)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT type,name,sql,tbl_name FROM sqlite_schema",
				      -1, &statement, NULL);
	if (code != SQLITE_OK)
		return sqlite_fault(load, code, "schema");
	unsigned fixed = 0;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < 4; i++)
			if (sqlite3_column_type(statement, i) != SQLITE_TEXT)
				return foreign_schema(load, "an object", column_text(statement, 1));
		if (strcmp(column_text(statement, 0), "table") == 0 &&
		    strcmp(column_text(statement, 1), column_text(statement, 3)) != 0)
			return foreign_schema(load, "a second name", column_text(statement, 3));
		int ret =
			check_schema_row(load, column_text(statement, 0), column_text(statement, 1),
					 column_text(statement, 2), &fixed);
		if (ret < 0)
			return ret;
	}
	if (code != SQLITE_DONE)
		return sqlite_fault(load, code, "schema");
	bool complete = fixed == 3;
	for (size_t i = 0; i < ROW_TABLES; i++)
		complete = complete && load->row_schemas[i];
	if (!complete)
		return error_set(load->err, -EBADMSG, "profile '%s' is damaged: it lacks a table",
				 load->options->name);
	return 0;
}

static int add_relation(struct load *load, int64_t id, struct span name, struct span text)
{
	const char *path = load->options->name;
	if (load->relation_count == PROFILE_MAX_RELATIONS)
		return error_set(load->err, -EBADMSG, "profile '%s' declares more than %d tables",
				 path, PROFILE_MAX_RELATIONS);
	if (array_reserve(&load->relations, &load->relation_capacity, load->relation_count,
			  sizeof(*load->relations)) < 0)
		return out_of_memory(load);
	struct relation *relation = &load->relations[load->relation_count];
	*relation = (struct relation){ .id = id };
	if (id < 1 || id > INT32_MAX ||
	    (load->relation_count && id <= load->relations[load->relation_count - 1].id))
		return error_set(load->err, -EBADMSG,
				 "profile '%s' is damaged: its declarations are out of order",
				 path);
	if (name.size >= sizeof(relation->name))
		return error_set(load->err, -EBADMSG,
				 "profile '%s' is damaged: a table's name is too long", path);
	memcpy(relation->name, name.data, name.size);
	const char *what = declaration_parse(text, relation->columns, &relation->column_count);
	if (!what)
		what = declaration_fault(relation->name, relation->columns, relation->column_count);
	for (size_t i = 0; !what && i < load->relation_count; i++)
		if (strcmp(load->relations[i].name, relation->name) == 0)
			what = "it is declared twice";
	if (what)
		return error_set(load->err, -EBADMSG, "profile '%s' is damaged: table '%.32s': %s",
				 path, relation->name, what);
	load->relation_count++;
	return 0;
}

static struct span column_span(sqlite3_stmt *statement, int column)
{
	const void *data = sqlite3_column_blob(statement, column); /* of TEXT too */
	return (struct span){ data ? data : "", (size_t)sqlite3_column_bytes(statement, column) };
}

static int read_relations(struct load *load)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT id,name,columns FROM relation", -1,
				      &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		int ret = add_relation(load, sqlite3_column_int64(statement, 0),
				       column_span(statement, 1), column_span(statement, 2));
		if (ret < 0)
			return ret;
	}
	return code == SQLITE_DONE ? 0 : sqlite_fault(load, code, "declarations");
}

static const struct relation *find_relation(const struct load *load, const char *name)
{
	for (size_t i = 0; i < load->relation_count; i++)
		if (strcmp(load->relations[i].name, name) == 0)
			return &load->relations[i];
	return NULL;
}

/* The CREATE statements of the row tables must be what their declarations make. */
static int check_row_schemas(struct load *load)
{
	for (size_t i = 0; i < ROW_TABLES; i++) {
		const char *name = profile_table_name(row_tables[i]);
		const struct relation *relation = find_relation(load, name);
		if (!relation)
			return error_set(load->err, -EBADMSG,
					 "profile '%s' is damaged: table '%s' is not declared",
					 load->options->name, name);
		CLEANUP(buffer_release) struct buffer sql = { 0 };
		declaration_create(&sql, name, relation->columns, relation->column_count);
		const char *text = buffer_text(&sql);
		if (buffer_failed(&sql))
			return out_of_memory(load);
		if (strcmp(text, load->row_schemas[i]) != 0)
			return foreign_schema(load, "a form of table", name);
	}
	return 0;
}

/* Makes our table for a relation: known columns first, the file's others behind. */
static int place_relation(struct load *load, struct relation *relation)
{
	if (!profile_find_table(load->profile, relation->name))
		load->counts->unknown_tables++;
	struct table *table = profile_add_table(load->profile, relation->name, relation->columns,
						relation->column_count);
	if (!table)
		return out_of_memory(load);
	relation->table = table;
	for (size_t i = 0; i < relation->column_count; i++)
		if (table_find_column(table, relation->columns[i].name) < 0 &&
		    table_add_column(table, &relation->columns[i]) < 0)
			return out_of_memory(load); /* room was checked with the declaration */
	for (size_t i = 0; i < relation->column_count; i++)
		relation->slots[i] = table_column_slot(
			table, (size_t)table_find_column(table, relation->columns[i].name));
	return 0;
}

static void seal_statement_row(struct seal_row *row, sqlite3_stmt *statement, const char *table,
			       uint64_t *payload_left)
{
	int columns = sqlite3_column_count(statement);
	seal_row_begin(row, table, sqlite3_column_int64(statement, 0));
	for (int i = 1; i < columns; i++) {
		switch (sqlite3_column_type(statement, i)) {
		case SQLITE_INTEGER:
			seal_row_integer(row, sqlite3_column_int64(statement, i));
			break;
		case SQLITE_NULL:
			seal_row_null(row);
			break;
		case SQLITE_TEXT:
			seal_row_text(row, column_span(statement, i));
			break;
		default: /* a float never seals right: we write none */
			seal_row_blob(row, column_span(statement, i));
			break;
		}
		uint64_t size = (uint64_t)sqlite3_column_bytes(statement, i);
		*payload_left -= size < *payload_left ? size : *payload_left;
	}
}

/*
 * Adds all rows of a table. Rowids must rise and the rows fit in the file: that
 * is what keeps a tree of pages that share children from being walked for ever.
 */
static int seal_table(struct load *load, const char *table, const char *sql, struct seal *seal,
		      uint64_t *payload_left)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	CLEANUP(seal_row_release) struct seal_row row = { 0 };
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	if (code != SQLITE_OK)
		return sqlite_fault(load, code, table);
	int64_t previous = 0;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		int64_t rowid = sqlite3_column_int64(statement, 0);
		seal_statement_row(&row, statement, table, payload_left);
		if (buffer_failed(&row.bytes))
			return out_of_memory(load);
		if (rowid <= previous || *payload_left == 0)
			return error_set(
				load->err, -EBADMSG,
				"profile '%s' is damaged: the rows of '%s' are out of order",
				load->options->name, table);
		previous = rowid;
		seal_add(seal, &row);
	}
	return code == SQLITE_DONE ? 0 : sqlite_fault(load, code, table);
}

static int read_seal(struct load *load, uint8_t out[SEAL_SIZE], bool *found)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT name,value,rowid FROM meta", -1, &statement,
				      NULL);
	*found = false;
	bool more = false;
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		struct span value = column_span(statement, 1);
		more = *found || strcmp(column_text(statement, 0), PROFILE_SEAL_NAME) != 0 ||
		       sqlite3_column_type(statement, 1) != SQLITE_BLOB ||
		       value.size != SEAL_SIZE || sqlite3_column_int64(statement, 2) != 1 ||
		       sqlite3_column_type(statement, 0) != SQLITE_TEXT;
		if (more)
			break;
		memcpy(out, value.data, SEAL_SIZE);
		*found = true;
	}
	if (more)
		*found = false;
	return more || code == SQLITE_DONE ? 0 : sqlite_fault(load, code, "meta");
}

static int check_seal(struct load *load)
{
	uint8_t written[SEAL_SIZE];
	bool found;
	int ret = read_seal(load, written, &found);
	struct seal seal = { 0 };
	/* Integers and NULLs have no bytes: every row still counts at least one. */
	uint64_t payload_left = load->options->file_bytes + 1;
	if (ret == 0)
		ret = seal_table(load, "relation", "SELECT id,name,columns FROM relation", &seal,
				 &payload_left);
	if (ret == 0)
		ret = seal_table(load, "chunk", "SELECT rowid,* FROM chunk", &seal, &payload_left);
	for (size_t i = 0; ret == 0 && i < ROW_TABLES; i++) {
		const char *name = profile_table_name(row_tables[i]);
		char sql[64];
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", name);
		ret = seal_table(load, name, sql, &seal, &payload_left);
	}
	if (ret < 0)
		return ret;
	uint8_t computed[SEAL_SIZE];
	seal_bytes(&seal, computed);
	if (load->options->ignore_seal)
		return 0;
	if (!found)
		return fault(load, "it has no proper seal");
	if (memcmp(written, computed, SEAL_SIZE) != 0)
		return fault(load, "its seal does not fit its content");
	return 0;
}

static int read_chunk_places(struct load *load)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
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
			return out_of_memory(load);
		struct chunk_place place = { sqlite3_column_int64(statement, 0),
					     sqlite3_column_int64(statement, 1),
					     sqlite3_column_int64(statement, 2),
					     (uint64_t)sqlite3_column_int64(statement, 3) };
		if (place.rowid <= previous)
			return fault(load, "the chunks are out of order");
		previous = place.rowid;
		load->chunks[load->chunk_count++] = place;
	}
	return code == SQLITE_DONE ? 0 : sqlite_fault(load, code, "chunk");
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
			return fault(load, "chunk %lld (bytes): its entries do not fit its bytes",
				     (long long)rowid);
		int ret = spend_memory(load, 1, size);
		if (ret < 0)
			return ret;
		struct span entry = { bytes, size };
		if (before) {
			buffer_append(begun, bytes, size - before);
			if (buffer_failed(begun))
				return out_of_memory(load);
			entry.data = begun->data;
		}
		bytes += size - before;
		left -= size - before;
		if (id == 0 || id > load->pool_size || load->pool[id])
			return fault(load, "chunk %lld (bytes): an entry's number is wrong",
				     (long long)rowid);
		size_t known = load->profile->bytes.count;
		if (profile_add_bytes(load->profile, entry, &load->pool[id]) < 0)
			return out_of_memory(load);
		if (load->profile->bytes.count == known) {
			/* Else two rows that differ in the file could be one here. */
			load->pool[id] = 0;
			return fault(load, "chunk %lld (bytes): an entry is there twice",
				     (long long)rowid);
		}
	}
	begun->size = 0;
	return left ? fault(load, "chunk %lld (bytes): it has bytes left over", (long long)rowid)
		    : 0;
}

/* Whether a chunk holds nothing but contents that the reader was asked to leave out. */
static bool is_left_out(const struct load *load, const struct chunk_place *place)
{
	return load->options->without_code && place->relation == 0 &&
	       (place->event == POOL_GROUP_CODE || place->event == POOL_GROUP_OTHER);
}

/* The next chunk of a relation, decoded; 1, 0 at the end, or negative. Damaged ones are reported
 * and passed over. */
static int next_chunk(struct load *load, sqlite3_stmt *statement, const char *name,
		      int64_t relation, const struct column *columns, size_t column_count,
		      size_t *at, struct chunk *chunk, int64_t *rowid)
{
	for (; *at < load->chunk_count; ++*at) {
		const struct chunk_place *place = &load->chunks[*at];
		if (place->relation != relation)
			continue;
		++*at;
		if (is_left_out(load, place)) {
			load->entries_left_out = true;
			load->counts->stash_bytes += place->size;
			--*at;
			continue;
		}
		*rowid = place->rowid;
		sqlite3_reset(statement);
		sqlite3_bind_int64(statement, 1, place->rowid);
		int code = sqlite3_step(statement);
		load->counts->chunks++;
		if (code != SQLITE_ROW) {
			load->counts->chunks_damaged++;
			int ret = sqlite_fault(load, code == SQLITE_DONE ? SQLITE_CORRUPT : code,
					       name);
			if (ret < 0)
				return ret;
			--*at;
			continue;
		}
		struct span stored = column_span(statement, 0);
		const char *what =
			sqlite3_column_type(statement, 0) == SQLITE_BLOB
				? chunk_decode(&load->coder, stored, columns, column_count, chunk)
				: "it is no blob";
		if (relation ? strcmp(name, "stash") == 0 : place->event > 0)
			load->counts->stash_bytes += stored.size;
		if (!what)
			return 1;
		if (what == chunk_out_of_memory)
			return out_of_memory(load);
		load->counts->chunks_damaged++;
		int ret = fault(load, "chunk %lld (%s): %s", (long long)*rowid, name, what);
		if (ret < 0)
			return ret;
		--*at;
	}
	return 0;
}

static int prepare_chunks(struct load *load, sqlite3_stmt **statement)
{
	int code = sqlite3_prepare_v2(load->db, "SELECT data FROM chunk WHERE rowid=?", -1,
				      statement, NULL);
	return code == SQLITE_OK ? 0 : sqlite_fault(load, code, "chunk");
}

/* The file's numbers are dense: no more than all chunks together can hold. */
static int size_pool(struct load *load)
{
	size_t chunks = 0;
	for (size_t i = 0; i < load->chunk_count; i++)
		chunks += load->chunks[i].relation == 0;
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT sum(rows) FROM chunk WHERE relation=0", -1,
				      &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	uint64_t declared = UINT64_MAX;
	if (code == SQLITE_ROW)
		declared = (uint64_t)sqlite3_column_int64(statement, 0);
	int ret = code == SQLITE_ROW ? 0 : sqlite_fault(load, code, "chunk");
	if (ret < 0)
		return ret;
	if (declared > (uint64_t)chunks * CHUNK_MAX_ROWS)
		declared = (uint64_t)chunks * CHUNK_MAX_ROWS;
	ret = spend_memory(load, declared, 0);
	if (ret < 0)
		return ret;
	load->pool_size = declared;
	load->pool = calloc(declared + 1, sizeof(*load->pool));
	return load->pool ? 0 : out_of_memory(load);
}

static int read_pool(struct load *load)
{
	int ret = size_pool(load);
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	CLEANUP(buffer_release) struct buffer begun = { 0 };
	if (ret == 0)
		ret = prepare_chunks(load, &statement);
	if (ret < 0)
		return ret;
	size_t at = 0;
	struct chunk chunk;
	int64_t rowid;
	while ((ret = next_chunk(load, statement, "bytes", 0, NULL, 0, &at, &chunk, &rowid)) > 0) {
		if (chunk.kind == CHUNK_PIECE) {
			ret = spend_memory(load, 1, chunk.bytes.size);
			buffer_append(&begun, chunk.bytes.data, chunk.bytes.size);
			if (ret == 0 && buffer_failed(&begun))
				ret = out_of_memory(load);
		} else {
			ret = add_entries(load, &chunk, &begun, rowid);
		}
		if (ret < 0)
			return ret;
	}
	if (ret == 0 && begun.size)
		ret = fault(load, "the byte pool ends inside an entry");
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

static int add_chunk_rows(struct load *load, const struct relation *relation,
			  const struct chunk *chunk, struct order *order, int64_t rowid)
{
	size_t key_count = 0;
	for (size_t i = 0; i < relation->column_count; i++)
		key_count += relation->columns[i].rule == RULE_KEY;
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
		const char *what = NULL;
		bool left_out = false;
		bool rising = rises(order, numbers, key_count);
		for (size_t i = 0; !what && i < relation->column_count; i++) {
			const struct column *column = &relation->columns[i];
			if (column->rule != RULE_KEY)
				continue;
			uint64_t key = *numbers++;
			what = take_key(load, table, column, &key);
			keys[relation->slots[i]] = key;
			left_out = what == bytes_left_out && relation->slots[i] == STASH_CONTENT;
		}
		if (left_out && may_be_left_out(load, relation, keys)) {
			load->counts->rows_left_out++;
			continue;
		}
		for (size_t i = 0; !what && i < relation->column_count; i++) {
			const struct column *column = &relation->columns[i];
			if (column->rule == RULE_KEY)
				continue;
			for (size_t j = 0; j < column_slots(column->type); j++)
				values[relation->slots[i] + j] = *numbers++;
		}
		int added = what ? 0 : add_new_row(table, keys, values, rising);
		if (added < 0)
			return out_of_memory(load);
		if (added)
			what = "it is there twice";
		if (!what) {
			load->counts->rows++;
			continue;
		}
		load->counts->rows_dropped++;
		ret = fault(load, "chunk %lld (%s): row %zu: %s", (long long)rowid, relation->name,
			    row, what);
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
		return fault(load, "chunk %lld (%s): it renews rows beside code that lies apart",
			     (long long)rowid, relation->name);
	for (size_t row = 0; row < chunk->count; row++) {
		const uint64_t *numbers = chunk->numbers + row * chunk->stride;
		uint64_t position = *numbers++;
		if (position >= table->count) {
			load->counts->rows_dropped++;
			int ret = fault(
				load, "chunk %lld (%s): row %zu: it renews a row that is not there",
				(long long)rowid, relation->name, row);
			if (ret < 0)
				return ret;
			continue;
		}
		uint64_t *values = table->values + position * table->value_slots;
		for (size_t i = 0; i < relation->column_count; i++) {
			const struct column *column = &relation->columns[i];
			if (column->rule == RULE_KEY)
				continue;
			for (size_t j = 0; j < column_slots(column->type); j++)
				values[relation->slots[i] + j] = *numbers++;
		}
	}
	return 0;
}

static int read_chunks(struct load *load, const struct relation *relation)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int ret = prepare_chunks(load, &statement);
	if (ret < 0)
		return ret;
	size_t at = 0;
	struct chunk chunk;
	struct order order = { 0 };
	int64_t rowid;
	while ((ret = next_chunk(load, statement, relation->name, relation->id, relation->columns,
				 relation->column_count, &at, &chunk, &rowid)) > 0) {
		ret = chunk.kind == CHUNK_ROWS
			      ? add_chunk_rows(load, relation, &chunk, &order, rowid)
			      : update_rows(load, relation, &chunk, rowid);
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
	if (what == chunk_out_of_memory)
		return out_of_memory(load);
	int ret = spend_memory(load, 1, text_bytes + (table->key_slots + table->value_slots) * 8);
	if (ret < 0)
		return ret;
	uint32_t position = 0;
	size_t before = table->count;
	if (!what && table_add(table, keys, values, &position) < 0)
		return out_of_memory(load);
	if (!what && position != before)
		what = "it is there twice";
	if (!what) {
		load->counts->rows++;
		return 0;
	}
	load->counts->rows_dropped++;
	return fault(load, "%s %lld: %s", relation->name, (long long)id, what);
}

static int read_rows(struct load *load, const struct relation *relation)
{
	char sql[64];
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", relation->name);
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		int ret = add_row(load, relation, statement);
		if (ret < 0)
			return ret;
	}
	return code == SQLITE_DONE ? 0 : sqlite_fault(load, code, relation->name);
}

static int read_relation(struct load *load, const struct relation *relation)
{
	return declaration_is_rows(relation->name) ? read_rows(load, relation)
						   : read_chunks(load, relation);
}

/* Dictionaries in the order in which they refer to each other, then the rest. */
static int read_content(struct load *load)
{
	for (int i = 0; i < PROFILE_DICTIONARIES; i++) {
		const struct relation *relation =
			find_relation(load, profile_table_name((enum profile_table)i));
		int ret = relation ? read_relation(load, relation) : 0;
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < load->relation_count; i++) {
		const struct relation *relation = &load->relations[i];
		bool dictionary = false;
		for (int j = 0; j < PROFILE_DICTIONARIES; j++)
			dictionary = dictionary || relation->table == load->profile->tables[j];
		int ret = dictionary ? 0 : read_relation(load, relation);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < load->chunk_count; i++) {
		bool known = load->chunks[i].relation == 0;
		for (size_t j = 0; !known && j < load->relation_count; j++)
			known = load->relations[j].id == load->chunks[i].relation &&
				!declaration_is_rows(load->relations[j].name);
		int ret = known ? 0
				: fault(load, "chunk %lld belongs to no table",
					(long long)load->chunks[i].rowid);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Nothing here reads them; others who join rows of many files by them must not be misled. */
static int check_stable_hashes_of(struct load *load, enum profile_table which)
{
	const char *name = profile_table_name(which);
	size_t count = load->profile->tables[which]->count;
	CLEANUP(free_pointer) struct hash128 *names = calloc(count + 1, sizeof(*names));
	if (!names || profile_stable_names(load->profile, which, names) < 0)
		return out_of_memory(load);
	char sql[64];
	snprintf(sql, sizeof(sql), "SELECT id,stable_hash FROM %s", name);
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		int64_t id = sqlite3_column_int64(statement, 0);
		struct span wanted = { names + (id - 1), sizeof(*names) };
		if (id < 1 || (uint64_t)id > count)
			continue; /* a fault already */
		if (span_equal(wanted, column_span(statement, 1)))
			continue;
		int ret = fault(load, "%s %lld: its stable hash is wrong", name, (long long)id);
		if (ret < 0)
			return ret;
	}
	return code == SQLITE_DONE ? 0 : sqlite_fault(load, code, name);
}

static int check_stable_hashes(struct load *load)
{
	int ret = check_stable_hashes_of(load, PROFILE_EVENT);
	if (ret == 0)
		ret = check_stable_hashes_of(load, PROFILE_IMAGE);
	return ret == 0 ? check_stable_hashes_of(load, PROFILE_CONTEXT) : ret;
}

uint64_t profile_unpacked_bytes(const struct profile *profile)
{
	uint64_t total = 0;
	for (size_t i = 0; i < profile->bytes.count; i++)
		total += profile->bytes.spans[i].size + 3 * PROFILE_UNPACK_ROW_BYTES;
	for (size_t i = 0; i < profile->table_count; i++) {
		const struct table *table = profile->tables[i];
		total += (uint64_t)table->count *
			 ((table->key_slots + table->value_slots) * sizeof(uint64_t) +
			  PROFILE_UNPACK_ROW_BYTES);
	}
	return total;
}

int profile_reader_load(struct guard *guard, const struct profile_reader_options *options,
			struct profile **out, struct profile_reader_counts *counts,
			struct error *err)
{
	CLEANUP(load_release)
	struct load load = { .db = guard->db, .options = options, .err = err };
	struct profile_reader_counts unwanted;
	load.counts = counts ? counts : &unwanted;
	*load.counts = (struct profile_reader_counts){ 0 };
	load.unpack_left = PROFILE_UNPACK_BASE_BYTES + options->file_bytes * PROFILE_UNPACK_RATIO;
	chunk_coder_init(&load.coder);
	load.profile = profile_new();
	if (!load.profile)
		return out_of_memory(&load);
	int ret = check_schema(&load);
	if (ret == 0)
		ret = read_relations(&load);
	if (ret == 0)
		ret = check_row_schemas(&load);
	load.schema_is_ours = ret == 0;
	if (ret == 0)
		ret = check_seal(&load);
	for (size_t i = 0; ret == 0 && i < load.relation_count; i++)
		ret = place_relation(&load, &load.relations[i]);
	if (ret == 0)
		ret = read_chunk_places(&load);
	if (ret == 0)
		ret = read_pool(&load);
	if (ret == 0)
		ret = read_content(&load);
	if (ret == 0 && options->fault)
		ret = check_stable_hashes(&load);
	if (ret < 0)
		return ret;
	*out = load.profile;
	load.profile = NULL; /* the caller's from here on */
	return 0;
}
