/*
 * profile_file_mutator - profile files changed as the databases that they are:
 * rows doubled, dropped and recombined, numbers of their columns, what is in a
 * chunk; then they are sealed anew, for what lies behind the seal.
 */
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include <sqlite3.h>

#include "mutator.h"
#include "store/chunk.h"
#include "store/seal.h"

#define CHANGES_MOST 3
#define TABLES_MOST  32
#define NAME_BYTES   64

static char tables[TABLES_MOST][NAME_BYTES];
static size_t table_count;

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;
	return sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static void run(sqlite3 *db, const char *sql)
{
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void list_tables(sqlite3 *db)
{
	sqlite3_stmt *statement = prepare(db, "SELECT name FROM sqlite_master WHERE type='table' "
					      "AND name NOT LIKE 'sqlite_%'");
	table_count = 0;
	while (statement && sqlite3_step(statement) == SQLITE_ROW && table_count < TABLES_MOST) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		if (name && strlen(name) < NAME_BYTES && !strchr(name, '"'))
			strcpy(tables[table_count++], name);
	}
	sqlite3_finalize(statement);
}

/* A row's rowid; 0: the table has none. */
static long long any_row(sqlite3 *db, const char *table, struct random_state *random)
{
	char sql[256];
	snprintf(sql, sizeof(sql),
		 "SELECT rowid FROM \"%s\" LIMIT 1 OFFSET (SELECT %llu %% "
		 "max(count(*),1) FROM \"%s\")",
		 table, (unsigned long long)random_below(random, 1000000), table);
	sqlite3_stmt *statement = prepare(db, sql);
	long long rowid = statement && sqlite3_step(statement) == SQLITE_ROW
				  ? sqlite3_column_int64(statement, 0)
				  : 0;
	sqlite3_finalize(statement);
	return rowid;
}

static bool any_column(sqlite3 *db, const char *table, struct random_state *random, char *name)
{
	char sql[160];
	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" LIMIT 0", table);
	sqlite3_stmt *statement = prepare(db, sql);
	int count = statement ? sqlite3_column_count(statement) : 0;
	if (count)
		snprintf(
			name, NAME_BYTES, "%s",
			sqlite3_column_name(statement, (int)random_below(random, (uint64_t)count)));
	sqlite3_finalize(statement);
	return count && !strchr(name, '"');
}

/* What a chunk holds before it is packed. */
static struct span unpacked(struct span data)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	static uint8_t room[1 << 20];
	const uint8_t *bytes = data.data;
	if (data.size && bytes[0] == CHUNK_STORED)
		return (struct span){ bytes + 1, data.size - 1 };
	const uint8_t *frame = data.size ? memmem(bytes, data.size, magic, sizeof(magic)) : NULL;
	size_t size = frame ? ZSTD_decompress(room, sizeof(room), frame,
					      data.size - (size_t)(frame - bytes))
			    : 0;
	return (struct span){ room, ZSTD_isError(size) ? 0 : size };
}

static void change_blob(sqlite3 *db, const char *table, const char *column, long long row,
			struct random_state *random)
{
	sqlite3_blob *blob = NULL;
	char sql[256];
	if (sqlite3_blob_open(db, "main", table, column, row, 0, &blob) != SQLITE_OK) {
		sqlite3_blob_close(blob);
		return;
	}
	int size = sqlite3_blob_bytes(blob);
	uint8_t *bytes = mutator_room((size_t)size + 1);
	if (!bytes || sqlite3_blob_read(blob, bytes, size, 0) != SQLITE_OK) {
		sqlite3_blob_close(blob);
		return;
	}
	sqlite3_blob_close(blob);
	struct span made = { bytes, (size_t)size };
	if (strcmp(table, "chunk") == 0 && !random_one_in(random, 6)) {
		struct span raw = mutator_bytes(unpacked(made), random);
		uint8_t *stored = mutator_room(raw.size + 1);
		if (!stored)
			return;
		stored[0] = CHUNK_STORED;
		if (raw.size)
			memcpy(stored + 1, raw.data, raw.size);
		made = (struct span){ stored, raw.size + 1 };
	} else {
		made = mutator_bytes(made, random);
	}
	snprintf(sql, sizeof(sql), "UPDATE \"%s\" SET \"%s\"=?1 WHERE rowid=%lld", table, column,
		 row);
	sqlite3_stmt *statement = prepare(db, sql);
	if (statement) {
		sqlite3_bind_blob(statement, 1, made.data ? made.data : "", (int)made.size,
				  SQLITE_STATIC);
		sqlite3_step(statement);
	}
	sqlite3_finalize(statement);
}

static void change(sqlite3 *db, struct random_state *random)
{
	char sql[512], column[NAME_BYTES];
	if (!table_count)
		return;
	const char *table =
		random_one_in(random, 2) ? "chunk" : tables[random_below(random, table_count)];
	long long row = any_row(db, table, random), other = any_row(db, table, random);
	if (!row || !any_column(db, table, random, column))
		return;
	switch (random_below(random, 8)) {
	case 0:
		snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE rowid=%lld", table, row);
		break;
	case 1: /* twice, behind all others */
		snprintf(sql, sizeof(sql),
			 "CREATE TEMP TABLE one AS SELECT * FROM \"%s\" WHERE rowid=%lld;"
			 "%s"
			 "INSERT INTO \"%s\" SELECT * FROM one;DROP TABLE one",
			 table, row, strcmp(table, "chunk") == 0 ? "" : "UPDATE one SET id=NULL;",
			 table);
		break;
	case 2:
	case 3:
		snprintf(sql, sizeof(sql), "UPDATE \"%s\" SET \"%s\"=%lld WHERE rowid=%lld", table,
			 column, (long long)mutator_number(random, (uint64_t)other, 8), row);
		break;
	case 4:
		snprintf(sql, sizeof(sql),
			 "UPDATE \"%s\" SET \"%s\"=(SELECT \"%s\" FROM \"%s\" WHERE rowid=%lld) "
			 "WHERE rowid=%lld",
			 table, column, column, table, other, row);
		break;
	case 5:
		snprintf(sql, sizeof(sql), "UPDATE \"%s\" SET rowid=%lld WHERE rowid=%lld", table,
			 (long long)mutator_number(random, (uint64_t)row, 8), row);
		break;
	default:
		change_blob(db, table, strcmp(table, "chunk") == 0 ? "data" : column, row, random);
		return;
	}
	run(db, sql);
}

static struct span column_span(sqlite3_stmt *statement, int column)
{
	const void *data = sqlite3_column_blob(statement, column);
	return (struct span){ data ? data : "", (size_t)sqlite3_column_bytes(statement, column) };
}

static void seal_table(sqlite3 *db, const char *table, struct seal_row *row, struct seal *seal)
{
	char sql[160];
	snprintf(sql, sizeof(sql),
		 strcmp(table, "chunk") == 0 ? "SELECT rowid,* FROM \"%s\""
					     : "SELECT * FROM \"%s\"",
		 table);
	sqlite3_stmt *statement = prepare(db, sql);
	while (statement && sqlite3_step(statement) == SQLITE_ROW) {
		seal_row_begin(row, table, sqlite3_column_int64(statement, 0));
		for (int i = 1; i < sqlite3_column_count(statement); i++)
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
			default:
				seal_row_blob(row, column_span(statement, i));
				break;
			}
		seal_add(seal, row);
	}
	sqlite3_finalize(statement);
}

static void remake_seal(sqlite3 *db)
{
	struct seal seal = { 0 };
	struct seal_row row = { 0 };
	uint8_t bytes[SEAL_SIZE];
	for (size_t i = 0; i < table_count; i++)
		if (strcmp(tables[i], "meta") != 0)
			seal_table(db, tables[i], &row, &seal);
	seal_row_release(&row);
	seal_bytes(&seal, bytes);
	sqlite3_stmt *statement = prepare(db, "UPDATE meta SET value=?1 WHERE name='seal'");
	if (statement) {
		sqlite3_bind_blob(statement, 1, bytes, SEAL_SIZE, SQLITE_STATIC);
		sqlite3_step(statement);
	}
	sqlite3_finalize(statement);
}

static size_t changed_database(uint8_t *data, size_t size, size_t max_size,
			       struct random_state *random)
{
	sqlite3 *db = NULL;
	size_t made = 0;
	uint8_t *bytes = sqlite3_malloc64(size);
	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_deserialize(db, "main", bytes, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
		    SQLITE_OK)
		goto out;
	run(db, "PRAGMA temp_store=MEMORY;BEGIN");
	list_tables(db);
	for (uint64_t times = 1 + random_below(random, CHANGES_MOST); times--;)
		change(db, random);
	if (!random_one_in(random, 8))
		remake_seal(db);
	run(db, "COMMIT");
	sqlite3_int64 written = 0;
	uint8_t *all = sqlite3_serialize(db, "main", &written, 0);
	if (all && table_count) {
		made = (size_t)written < max_size ? (size_t)written : max_size;
		memcpy(data, all, made);
	}
	sqlite3_free(all);
out:
	sqlite3_close(db);
	return made;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	/* a database that is damaged already is for flipped bytes */
	if (!random_one_in(&random, 6) && size >= 512) {
		size_t made = changed_database(data, size, max_size, &random);
		if (made)
			return made;
	}
	return LLVMFuzzerMutate(data, size, max_size);
}
