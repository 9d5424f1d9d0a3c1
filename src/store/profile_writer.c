#include "store/profile_writer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "store/declaration.h"
#include "store/utf8.h"

/* A chunk ends where the event or the image changes, once it has this many rows: about 4 KB stored.
 */
#define CHUNK_JOIN_ROWS 1024

void profile_writer_init(struct profile_writer *writer, sqlite3 *db)
{
	*writer = (struct profile_writer){ .db = db, .next_chunk = 1 };
	chunk_coder_init(&writer->coder);
}

void profile_writer_release(struct profile_writer *writer)
{
	sqlite3_finalize(writer->insert_chunk);
	chunk_coder_release(&writer->coder);
	seal_row_release(&writer->row);
	free(writer->parts);
	*writer = (struct profile_writer){ 0 };
}

static int run(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int profile_writer_prepare(sqlite3 *db)
{
	CLEANUP(buffer_release) struct buffer sql = { 0 };
	buffer_printf(&sql, "PRAGMA page_size=%d; PRAGMA application_id=%d; PRAGMA user_version=%d",
		      PROFILE_FORMAT_PAGE_BYTES, PROFILE_FORMAT_APPLICATION_ID,
		      PROFILE_FORMAT_VERSION);
	return run(db, buffer_text(&sql));
}

/* A row that is being written: each column is bound to the statement and added to the seal's row.
 */
struct row_writer {
	struct profile_writer *writer;
	sqlite3_stmt *statement;
	int column;
};

static void finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

/* The first parameter is the rowid. */
static void row_begin(struct row_writer *row, const char *table, int64_t rowid)
{
	row->column = 1;
	sqlite3_bind_int64(row->statement, row->column++, rowid);
	seal_row_begin(&row->writer->row, table, rowid);
}

static void row_integer(struct row_writer *row, int64_t value)
{
	sqlite3_bind_int64(row->statement, row->column++, value);
	seal_row_integer(&row->writer->row, value);
}

static void row_null(struct row_writer *row)
{
	sqlite3_bind_null(row->statement, row->column++);
	seal_row_null(&row->writer->row);
}

/* The bytes must live until row_end(). */
static int row_text(struct row_writer *row, struct span text)
{
	seal_row_text(&row->writer->row, text);
	return sqlite3_bind_text64(row->statement, row->column++, text.size ? text.data : "",
				   text.size, SQLITE_STATIC, SQLITE_UTF8);
}

static int row_blob(struct row_writer *row, struct span blob)
{
	seal_row_blob(&row->writer->row, blob);
	return sqlite3_bind_blob64(row->statement, row->column++, blob.size ? blob.data : "",
				   blob.size, SQLITE_STATIC);
}

static int row_end(struct row_writer *row, struct seal *seal)
{
	if (buffer_failed(&row->writer->row.bytes))
		return SQLITE_NOMEM;
	int code = sqlite3_step(row->statement);
	sqlite3_reset(row->statement);
	if (code != SQLITE_DONE)
		return code;
	seal_add(seal, &row->writer->row);
	return SQLITE_OK;
}

/* Whether a table may be left out of a closed file: without it, it reads the same. */
static bool is_unused(size_t index, const struct table *table)
{
	size_t known = 0;
	if (index >= PROFILE_KNOWN_TABLES || declaration_is_rows(table->name))
		return false;
	profile_columns((enum profile_table)index, &known);
	return table->count == 0 && table->column_count == known;
}

static int create_tables(sqlite3 *db, const struct profile *profile)
{
	CLEANUP(buffer_release) struct buffer sql = { 0 };
	buffer_append_text(&sql, PROFILE_SCHEMA_META ";" PROFILE_SCHEMA_RELATION
						     ";" PROFILE_SCHEMA_CHUNK);
	for (size_t i = 0; i < profile->table_count; i++) {
		const struct table *table = profile->tables[i];
		if (!declaration_is_rows(table->name))
			continue;
		buffer_append_text(&sql, ";");
		declaration_create(&sql, table->name, table->columns, table->column_count);
	}
	const char *text = buffer_text(&sql);
	return buffer_failed(&sql) ? SQLITE_NOMEM : run(db, text);
}

int profile_writer_schema(struct profile_writer *writer, const struct profile *profile,
			  enum profile_writer_tables which)
{
	free(writer->parts);
	writer->part_count = profile->table_count + 1;
	writer->parts = calloc(writer->part_count, sizeof(*writer->parts));
	writer->declared = (struct seal){ 0 };
	writer->next_chunk = 1;
	if (!writer->parts)
		return SQLITE_NOMEM;
	int code = create_tables(writer->db, profile);
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(writer->db, "INSERT INTO relation VALUES(?,?,?)", -1,
					  &statement, NULL);
	struct row_writer row = { writer, statement, 0 };
	CLEANUP(buffer_release) struct buffer text = { 0 };
	for (size_t i = 0; code == SQLITE_OK && i < profile->table_count; i++) {
		const struct table *table = profile->tables[i];
		if (which == PROFILE_WRITER_USED_TABLES && is_unused(i, table))
			continue;
		buffer_empty(&text);
		declaration_put(&text, table->columns, table->column_count);
		if (buffer_failed(&text))
			return SQLITE_NOMEM;
		row_begin(&row, "relation", (int64_t)i + 1);
		code = row_text(&row, span_of_text(table->name));
		if (code == SQLITE_OK)
			code = row_text(&row, (struct span){ text.data, text.size });
		if (code == SQLITE_OK)
			code = row_end(&row, &writer->declared);
	}
	return code;
}

static int write_cell(struct row_writer *row, const struct profile *profile,
		      const struct column *column, const uint64_t *value, uint8_t wide[16])
{
	switch (column->type) {
	case COLUMN_BYTES: {
		struct span bytes = profile_bytes(profile, *value);
		if (!bytes.data) {
			row_null(row);
			return SQLITE_OK;
		}
		return utf8_is_plain(bytes) ? row_text(row, bytes) : row_blob(row, bytes);
	}
	case COLUMN_U128:
		for (int i = 0; i < 16; i++)
			wide[i] = (uint8_t)(value[i < 8] >> (8 * (7 - i % 8)));
		return row_blob(row, (struct span){ wide, 16 });
	case COLUMN_OPTIONAL:
		if (*value)
			row_integer(row, (int64_t)(*value - 1));
		else
			row_null(row);
		return SQLITE_OK;
	default:
		row_integer(row, (int64_t)*value);
		return SQLITE_OK;
	}
}

static int write_row(struct row_writer *row, const struct profile *profile,
		     const struct table *table, size_t position, const struct hash128 *name,
		     struct seal *seal)
{
	const uint64_t *key = table_keys(table, position);
	const uint64_t *value = table_values(table, position);
	uint8_t wide[TABLE_MAX_COLUMNS][16];
	int code = SQLITE_OK;
	row_begin(row, table->name, (int64_t)position + 1);
	if (name)
		code = row_blob(row, (struct span){ name, sizeof(*name) });
	for (size_t i = 0; code == SQLITE_OK && i < table->column_count; i++) {
		const struct column *column = &table->columns[i];
		const uint64_t **at = column->rule == RULE_KEY ? &key : &value;
		code = write_cell(row, profile, column, *at, wide[i]);
		*at += column_slots(column->type);
	}
	return code == SQLITE_OK ? row_end(row, seal) : code;
}

int profile_writer_add_rows(struct profile_writer *writer, const struct profile *profile,
			    size_t index, size_t first)
{
	const struct table *table = profile->tables[index];
	if (first == table->count)
		return SQLITE_OK;
	bool named = declaration_is_named(table->name);
	CLEANUP(free_pointer) struct hash128 *names = NULL;
	if (named) {
		names = calloc(table->count, sizeof(*names));
		if (!names || profile_stable_names(profile, (enum profile_table)index, names) < 0)
			return SQLITE_NOMEM;
	}
	CLEANUP(buffer_release) struct buffer sql = { 0 };
	buffer_printf(&sql, "INSERT INTO %s VALUES(?", table->name);
	for (size_t i = 0; i < table->column_count + named; i++)
		buffer_append_text(&sql, ",?");
	buffer_append_text(&sql, ")");
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(writer->db, buffer_text(&sql), -1, &statement, NULL);
	struct row_writer row = { writer, statement, 0 };
	for (size_t i = first; code == SQLITE_OK && i < table->count; i++)
		code = write_row(&row, profile, table, i, named ? &names[i] : NULL,
				 &writer->parts[index + 1]);
	return code;
}

int profile_writer_clear(struct profile_writer *writer, const struct profile *profile, size_t index)
{
	const struct table *table = profile->tables[index];
	CLEANUP(buffer_release) struct buffer sql = { 0 };
	if (declaration_is_rows(table->name))
		buffer_printf(&sql, "DELETE FROM %s", table->name);
	else
		buffer_printf(&sql, "DELETE FROM chunk WHERE relation=%zu", index + 1);
	writer->parts[index + 1] = (struct seal){ 0 };
	return run(writer->db, buffer_text(&sql));
}

/* Where a chunk belongs: the event and image of its first row, when its table has such columns. */
struct place {
	size_t relation;
	int event_slot, image_slot; /* among the keys; -1: none */
	uint64_t group;		    /* of the byte pool's chunks, in the place of the event */
};

static int find_slot(const struct table *table, enum column_type type)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].type == type)
			return (int)table_column_slot(table, i);
	return -1;
}

static int insert_chunk(struct profile_writer *writer, const struct place *place,
			const uint64_t *keys, size_t first, size_t count)
{
	const struct profile_waiter *waiter = writer->waiter;
	if (waiter && waiter->is_gone(waiter->context))
		return SQLITE_ABORT;
	if (!writer->insert_chunk) {
		int code = sqlite3_prepare_v2(
			writer->db,
			"INSERT INTO chunk(rowid,relation,event,image,first,rows,data)"
			" VALUES(?,?,?,?,?,?,?)",
			-1, &writer->insert_chunk, NULL);
		if (code != SQLITE_OK)
			return code;
	}
	struct row_writer row = { writer, writer->insert_chunk, 0 };
	row_begin(&row, "chunk", writer->next_chunk++);
	row_integer(&row, (int64_t)place->relation);
	for (int i = 0; i < 2; i++) {
		int slot = i ? place->image_slot : place->event_slot;
		if (slot >= 0 && keys)
			row_integer(&row, (int64_t)keys[slot]);
		else if (i == 0 && place->relation == 0)
			row_integer(&row, (int64_t)place->group);
		else
			row_null(&row);
	}
	row_integer(&row, (int64_t)first);
	row_integer(&row, (int64_t)count);
	const struct buffer *stored = &writer->coder.stored;
	writer->stored_bytes += stored->size;
	int code = row_blob(&row, (struct span){ stored->data, stored->size });
	return code == SQLITE_OK ? row_end(&row, &writer->parts[place->relation]) : code;
}

static bool same_place(const struct table *table, const struct place *place, size_t a, size_t b)
{
	const uint64_t *left = table_keys(table, a);
	const uint64_t *right = table_keys(table, b);
	return (place->event_slot < 0 || left[place->event_slot] == right[place->event_slot]) &&
	       (place->image_slot < 0 || left[place->image_slot] == right[place->image_slot]);
}

static size_t chunk_end(const struct table *table, const struct place *place, size_t first,
			size_t most)
{
	size_t end = first + 1;
	for (; end < table->count && end - first < most; end++)
		if (end - first >= CHUNK_JOIN_ROWS && !same_place(table, place, end - 1, end))
			break;
	return end;
}

int profile_writer_add_chunks(struct profile_writer *writer, const struct profile *profile,
			      size_t index, size_t first, const uint32_t *pool_ids)
{
	const struct table *table = profile->tables[index];
	struct place place = { index + 1, find_slot(table, COLUMN_EVENT),
			       find_slot(table, COLUMN_IMAGE), 0 };
	size_t most = chunk_max_rows(table);
	int code = SQLITE_OK;
	while (code == SQLITE_OK && first < table->count) {
		size_t end = chunk_end(table, &place, first, most);
		if (chunk_encode_rows(&writer->coder, table, first, end - first, pool_ids) < 0)
			return SQLITE_NOMEM;
		code = insert_chunk(writer, &place, table_keys(table, first), first, end - first);
		first = end;
	}
	return code;
}

int profile_writer_update(struct profile_writer *writer, const struct profile *profile,
			  size_t index, const uint32_t *rows, size_t count)
{
	const struct table *table = profile->tables[index];
	struct place place = { index + 1, -1, -1, 0 };
	size_t most = chunk_max_rows(table);
	int code = SQLITE_OK;
	while (code == SQLITE_OK && count) {
		size_t part = count < most ? count : most;
		if (chunk_encode_updates(&writer->coder, table, rows, part) < 0)
			return SQLITE_NOMEM;
		code = insert_chunk(writer, &place, NULL, rows[0], part);
		rows += part;
		count -= part;
	}
	return code;
}

/* Writes the beginning of an entry that is too long for one chunk as pieces. *skip: its bytes. */
static int add_pieces(struct profile_writer *writer, const struct place *pool, struct span bytes,
		      uint32_t file_id, size_t *skip)
{
	*skip = 0;
	while (bytes.size - *skip > CHUNK_MAX_RAW_BYTES / 2) {
		struct span piece = { (const char *)bytes.data + *skip, CHUNK_MAX_RAW_BYTES / 2 };
		if (chunk_encode_piece(&writer->coder, piece) < 0)
			return SQLITE_NOMEM;
		int code = insert_chunk(writer, pool, NULL, file_id, 1);
		if (code != SQLITE_OK)
			return code;
		*skip += piece.size;
	}
	return SQLITE_OK;
}

int profile_writer_add_pool(struct profile_writer *writer, const struct profile *profile,
			    const uint32_t *ids, const uint32_t *file_ids, size_t count,
			    uint64_t group)
{
	struct place pool = { 0, -1, -1, group };
	int code = SQLITE_OK;
	while (code == SQLITE_OK && count) {
		size_t skip;
		struct span first = profile_bytes(profile, ids[0]);
		code = add_pieces(writer, &pool, first, file_ids[0], &skip);
		if (code != SQLITE_OK)
			return code;
		size_t size = first.size - skip;
		size_t part = 1;
		for (; part < count && part < CHUNK_MAX_ROWS && size < CHUNK_POOL_BYTES; part++) {
			size_t next = profile_bytes(profile, ids[part]).size;
			if (next > CHUNK_POOL_BYTES)
				break;
			size += next;
		}
		if (chunk_encode_bytes(&writer->coder, &profile->bytes, ids, file_ids, part, skip) <
		    0)
			return SQLITE_NOMEM;
		code = insert_chunk(writer, &pool, NULL, file_ids[0], part);
		ids += part;
		file_ids += part;
		count -= part;
	}
	return code;
}

int profile_writer_seal(struct profile_writer *writer)
{
	struct seal seal = writer->declared;
	for (size_t i = 0; i < writer->part_count; i++)
		seal.sum += writer->parts[i].sum;
	uint8_t bytes[SEAL_SIZE];
	seal_bytes(&seal, bytes);
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(writer->db,
				      "INSERT OR REPLACE INTO meta(rowid,name,value) VALUES(1,?,?)",
				      -1, &statement, NULL);
	if (code != SQLITE_OK)
		return code;
	sqlite3_bind_text(statement, 1, PROFILE_SEAL_NAME, -1, SQLITE_STATIC);
	sqlite3_bind_blob(statement, 2, bytes, sizeof(bytes), SQLITE_STATIC);
	code = sqlite3_step(statement);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}
