#include "store/epoch_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/declaration.h"
#include "store/sqlite_guard.h"

/* A table is written anew once what was added to it outweighs what it began with by this much. */
#define COMPACT_SLACK_BYTES 65536

int epoch_failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot write '%s': %s", path, strerror(-code));
}

int epoch_sqlite_failed(const struct epoch *epoch, int code, struct error *err)
{
	return error_set(err, guard_errno(epoch->db, code), "cannot write '%s': %s",
			 epoch->folder.path, guard_reason(epoch->db, code));
}

static void discard_changes(struct epoch *epoch)
{
	for (size_t i = 0; i < epoch->stored_count; i++)
		epoch->stored[i].changed_count = 0;
}

/* Whether the file's declarations still are those of the profile. */
static bool declarations_hold(const struct epoch *epoch)
{
	if (epoch->stored_count != epoch->profile->table_count)
		return false;
	for (size_t i = 0; i < epoch->stored_count; i++)
		if (epoch->stored[i].columns != epoch->profile->tables[i]->column_count)
			return false;
	return true;
}

static int compare_rows(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;
	return (left > right) - (left < right);
}

static size_t sort_changed(struct stored *stored)
{
	if (stored->changed_count == 0)
		return 0;
	qsort(stored->changed, stored->changed_count, sizeof(*stored->changed), compare_rows);
	size_t kept = 1;
	for (size_t i = 1; i < stored->changed_count; i++)
		if (stored->changed[i] != stored->changed[kept - 1])
			stored->changed[kept++] = stored->changed[i];
	return stored->changed_count = kept;
}

static int store_rows(struct epoch *epoch, size_t index)
{
	struct stored *stored = &epoch->stored[index];
	size_t first = stored->rows;
	int code = SQLITE_OK;
	if (stored->changed_count) {
		code = profile_writer_clear(&epoch->writer, epoch->profile, index);
		first = 0;
	}
	return code == SQLITE_OK
		       ? profile_writer_add_rows(&epoch->writer, epoch->profile, index, first)
		       : code;
}

/* Appends new rows and new values, or writes the table anew when too much was appended. */
static int store_chunks(struct epoch *epoch, size_t index)
{
	struct stored *stored = &epoch->stored[index];
	struct profile_writer *writer = &epoch->writer;
	size_t changed = sort_changed(stored);
	if (changed == 0 && stored->rows == epoch->profile->tables[index]->count)
		return SQLITE_OK;
	uint64_t before = writer->stored_bytes;
	int code;
	if (stored->added_bytes > stored->whole_bytes + COMPACT_SLACK_BYTES) {
		code = profile_writer_clear(writer, epoch->profile, index);
		if (code == SQLITE_OK)
			code = profile_writer_add_chunks(writer, epoch->profile, index, 0, NULL);
		stored->whole_bytes = writer->stored_bytes - before;
		stored->added_bytes = 0;
		return code;
	}
	code = profile_writer_update(writer, epoch->profile, index, stored->changed, changed);
	if (code == SQLITE_OK)
		code = profile_writer_add_chunks(writer, epoch->profile, index, stored->rows, NULL);
	stored->added_bytes += writer->stored_bytes - before;
	return code;
}

static int store_pool(struct epoch *epoch)
{
	size_t first = epoch->stored_entries;
	size_t count = epoch->profile->bytes.count - first;
	CLEANUP(free_pointer) uint32_t *ids = calloc(count + 1, sizeof(*ids));
	if (!ids)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < count; i++)
		ids[i] = (uint32_t)(first + i + 1);
	return profile_writer_add_pool(&epoch->writer, epoch->profile, ids, ids, count, 0);
}

static int drop_tables(sqlite3 *db)
{
	CLEANUP(buffer_release) struct buffer sql = { 0 };
	buffer_append_text(&sql, "DROP TABLE IF EXISTS meta; DROP TABLE IF EXISTS relation;"
				 "DROP TABLE IF EXISTS chunk");
	for (int i = 0; i < PROFILE_KNOWN_TABLES; i++) {
		const char *name = profile_table_name((enum profile_table)i);
		if (declaration_is_rows(name))
			buffer_printf(&sql, "; DROP TABLE IF EXISTS %s", name);
	}
	const char *text = buffer_text(&sql);
	return buffer_failed(&sql) ? SQLITE_NOMEM : sqlite3_exec(db, text, NULL, NULL, NULL);
}

/* Declarations changed, by a column or table of a later version: empties the file and declares all
 * tables anew. */
static int declare_again(struct epoch *epoch)
{
	size_t count = epoch->profile->table_count;
	struct stored *grown = calloc(count, sizeof(*grown));
	if (!grown)
		return SQLITE_NOMEM;
	for (size_t i = 0; i < epoch->stored_count; i++)
		free(epoch->stored[i].changed);
	free(epoch->stored);
	epoch->stored = grown;
	epoch->stored_count = count;
	epoch->stored_entries = 0;
	sqlite3_finalize(epoch->writer.insert_chunk);
	epoch->writer.insert_chunk = NULL;
	int code = drop_tables(epoch->db);
	return code == SQLITE_OK ? profile_writer_schema(&epoch->writer, epoch->profile,
							 PROFILE_WRITER_ALL_TABLES)
				 : code;
}

static int store_content(struct epoch *epoch)
{
	int code = declarations_hold(epoch) ? SQLITE_OK : declare_again(epoch);
	if (code == SQLITE_OK)
		code = store_pool(epoch);
	for (size_t i = 0; code == SQLITE_OK && i < epoch->stored_count; i++)
		code = declaration_is_rows(epoch->profile->tables[i]->name)
			       ? store_rows(epoch, i)
			       : store_chunks(epoch, i);
	return code == SQLITE_OK ? profile_writer_seal(&epoch->writer) : code;
}

static void note_stored(struct epoch *epoch)
{
	epoch->stored_entries = epoch->profile->bytes.count;
	for (size_t i = 0; i < epoch->stored_count; i++) {
		epoch->stored[i].rows = epoch->profile->tables[i]->count;
		epoch->stored[i].columns = epoch->profile->tables[i]->column_count;
	}
	discard_changes(epoch);
}

/* What `epoch` says of the file before a transaction: restored when that fails. */
struct before {
	struct seal *parts;
	struct seal declared;
	int64_t next_chunk;
	uint64_t *sizes; /* whole_bytes, added_bytes of each table */
};

static void before_release(struct before *before)
{
	free(before->parts);
	free(before->sizes);
}

static int before_init(struct before *before, const struct epoch *epoch)
{
	const struct profile_writer *writer = &epoch->writer;
	before->declared = writer->declared;
	before->next_chunk = writer->next_chunk;
	before->parts = calloc(writer->part_count + 1, sizeof(*before->parts));
	before->sizes = calloc(epoch->stored_count + 1, 2 * sizeof(*before->sizes));
	if (!before->parts || !before->sizes)
		return SQLITE_NOMEM;
	if (writer->part_count)
		memcpy(before->parts, writer->parts, writer->part_count * sizeof(*writer->parts));
	for (size_t i = 0; i < epoch->stored_count; i++) {
		before->sizes[2 * i] = epoch->stored[i].whole_bytes;
		before->sizes[2 * i + 1] = epoch->stored[i].added_bytes;
	}
	return SQLITE_OK;
}

static void restore(struct epoch *epoch, const struct before *before)
{
	struct profile_writer *writer = &epoch->writer;
	writer->declared = before->declared;
	writer->next_chunk = before->next_chunk;
	memcpy(writer->parts, before->parts, writer->part_count * sizeof(*writer->parts));
	for (size_t i = 0; i < epoch->stored_count; i++) {
		epoch->stored[i].whole_bytes = before->sizes[2 * i];
		epoch->stored[i].added_bytes = before->sizes[2 * i + 1];
	}
}

int epoch_store(struct epoch *epoch, struct error *err)
{
	CLEANUP(before_release) struct before before = { 0 };
	bool declared = declarations_hold(epoch);
	int code = before_init(&before, epoch);
	if (code == SQLITE_OK)
		code = sqlite3_exec(epoch->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (code == SQLITE_OK) {
		code = store_content(epoch);
		if (code == SQLITE_OK)
			code = sqlite3_exec(epoch->db, "COMMIT", NULL, NULL, NULL);
		if (code != SQLITE_OK && declared)
			restore(epoch, &before);
		else if (code != SQLITE_OK && epoch->stored_count)
			epoch->stored[0].columns = 0; /* so that declarations_hold() is false */
	}
	if (code != SQLITE_OK) {
		int ret = epoch_sqlite_failed(epoch, code, err);
		if (!sqlite3_get_autocommit(epoch->db))
			sqlite3_exec(epoch->db, "ROLLBACK", NULL, NULL, NULL);
		return ret;
	}
	note_stored(epoch);
	/*
	 * What was committed is durable in the log already. When the log cannot be
	 * emptied now (a reader holds it, the disk is full), the next merge tries
	 * again, and says so when it cannot go on.
	 */
	if (open_folder_lock_readers(&epoch->folder)) {
		sqlite3_wal_checkpoint_v2(epoch->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		open_folder_unlock_readers(&epoch->folder);
	}
	return 0;
}

int epoch_note_row(void *context, size_t table, uint32_t row)
{
	struct epoch *epoch = context;
	if (table >= epoch->stored_count)
		return 0; /* a table that the file lacks: it will be written whole */
	struct stored *stored = &epoch->stored[table];
	if (row >= stored->rows || epoch->profile->tables[table]->value_slots == 0)
		return 0;
	int ret = array_reserve(&stored->changed, &stored->changed_capacity, stored->changed_count,
				sizeof(*stored->changed));
	if (ret == 0)
		stored->changed[stored->changed_count++] = row;
	return ret;
}
