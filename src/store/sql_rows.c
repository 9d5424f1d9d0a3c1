/* Rows of the tables that are kept as SQL rows (declaration_is_rows()). */
#include "store/profile_reader_private.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "store/column_span.h"
#include "store/declaration.h"

/* One column of the row that the statement stands on, into the slots at `out`. NULL, what is wrong,
 * or chunk_out_of_memory. */
static const char *read_cell(struct load *load, sqlite3_stmt *statement, int at,
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
		    *out > load_target(load, column->type)->count)
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
		what = read_cell(load, statement, at, column, row + relation->slots[i]);
		if (column->type == COLUMN_BYTES)
			text_bytes += (uint64_t)sqlite3_column_bytes(statement, at);
	}
	if (!what && table == load->profile->tables[PROFILE_EVENT] &&
	    keys[EVENT_SCALE] > PROFILE_MOST_DECIMALS)
		what = "its scale is above 18";
	if (what == chunk_out_of_memory)
		return load_out_of_memory(load);
	int ret = load_spend_memory(load, 1,
				    text_bytes + (table->key_slots + table->value_slots) * 8);
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

int load_sql_rows(struct load *load, const struct relation *relation)
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
