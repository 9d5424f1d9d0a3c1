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

static const enum profile_table row_tables[ROW_TABLES] = { PROFILE_EVENT, PROFILE_IMAGE,
							   PROFILE_CONTEXT, PROFILE_SOURCE };

static int foreign_schema(struct load *load, const char *what, const char *name)
{
	return error_set(load->err, -EBADMSG,
			 "profile '%s' is damaged or forged: it has %s '%.64s' that no profile has",
			 load->options->name, what, name);
}

/* The CREATE statement that a table must have, or NULL when it depends on the declarations. */
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
		return load->row_schemas[i] ? 0 : load_out_of_memory(load);
	}
	return foreign_schema(load, "a table", name);
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
	const char *text = (const char *)sqlite3_column_text(statement, column);
	return text ? text : "";
}

int load_schema(struct load *load)
{
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT type,name,sql,tbl_name FROM sqlite_schema",
				      -1, &statement, NULL);
	if (code != SQLITE_OK)
		return load_sqlite_fault(load, code, "schema");
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
		return load_sqlite_fault(load, code, "schema");
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
		return load_out_of_memory(load);
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

int load_relations(struct load *load)
{
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
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
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, "declarations");
}

const struct relation *load_find_relation(const struct load *load, const char *name)
{
	for (size_t i = 0; i < load->relation_count; i++)
		if (strcmp(load->relations[i].name, name) == 0)
			return &load->relations[i];
	return NULL;
}

int load_row_schemas(struct load *load)
{
	for (size_t i = 0; i < ROW_TABLES; i++) {
		const char *name = profile_table_name(row_tables[i]);
		const struct relation *relation = load_find_relation(load, name);
		if (!relation)
			return error_set(load->err, -EBADMSG,
					 "profile '%s' is damaged: table '%s' is not declared",
					 load->options->name, name);
		CLEANUP(buffer_release) struct buffer sql = { 0 };
		declaration_create(&sql, name, relation->columns, relation->column_count);
		const char *text = buffer_text(&sql);
		if (buffer_failed(&sql))
			return load_out_of_memory(load);
		if (strcmp(text, load->row_schemas[i]) != 0)
			return foreign_schema(load, "a form of table", name);
	}
	return 0;
}

int load_place_relation(struct load *load, struct relation *relation)
{
	if (!profile_find_table(load->profile, relation->name))
		load->counts->unknown_tables++;
	struct table *table = profile_add_table(load->profile, relation->name, relation->columns,
						relation->column_count);
	if (!table)
		return load_out_of_memory(load);
	relation->table = table;
	for (size_t i = 0; i < relation->column_count; i++)
		if (table_find_column(table, relation->columns[i].name) < 0 &&
		    table_add_column(table, &relation->columns[i]) < 0)
			return load_out_of_memory(load); /* room was checked with the declaration */
	for (size_t i = 0; i < relation->column_count; i++)
		relation->slots[i] = table_column_slot(
			table, (size_t)table_find_column(table, relation->columns[i].name));
	return 0;
}

/* Counts the bytes of texts and blobs, whose pages several rows of a forged file could share.
 * Numbers are left out: SQLite would measure their text, which is longer than they are in the file.
 */
static void count_payload(sqlite3_stmt *statement, uint64_t *payload_left)
{
	int columns = sqlite3_column_count(statement);
	for (int i = 1; i < columns; i++) {
		int type = sqlite3_column_type(statement, i);
		if (type != SQLITE_TEXT && type != SQLITE_BLOB)
			continue;
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
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	CLEANUP(seal_row_release) struct seal_row row = { 0 };
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	if (code != SQLITE_OK)
		return load_sqlite_fault(load, code, table);
	int64_t previous = 0;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		int64_t rowid = sqlite3_column_int64(statement, 0);
		seal_row_spell(&row, table, statement);
		count_payload(statement, payload_left);
		if (buffer_failed(&row.bytes))
			return load_out_of_memory(load);
		if (rowid <= previous || *payload_left == 0)
			return error_set(
				load->err, -EBADMSG,
				"profile '%s' is damaged: the rows of '%s' are out of order",
				load->options->name, table);
		previous = rowid;
		seal_add(seal, &row);
	}
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, table);
}

static int read_seal(struct load *load, uint8_t out[SEAL_SIZE], bool *found)
{
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
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
	return more || code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, "meta");
}

int load_check_seal(struct load *load)
{
	uint8_t written[SEAL_SIZE];
	bool found;
	int ret = read_seal(load, written, &found);
	struct seal seal = { 0 };
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
		return load_fault(load, "it has no proper seal");
	if (memcmp(written, computed, SEAL_SIZE) != 0)
		return load_fault(load, "its seal does not fit its content");
	return 0;
}
