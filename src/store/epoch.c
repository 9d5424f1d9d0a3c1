#include "store/epoch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/declaration.h"
#include "store/open_folder.h"
#include "store/output_folder.h"
#include "store/passing_name.h"
#include "store/profile_file.h"
#include "store/profile_writer.h"
#include "store/replace_file.h"
#include "store/sqlite_guard.h"

/* A table is written anew once what was added to it outweighs what it began with by this much. */
#define COMPACT_SLACK_BYTES 65536
/* Of recordings that begin at once under one name, one gets it. */
#define BEGIN_ATTEMPTS 5

/* What the open file holds of one table. */
struct stored {
	size_t rows;
	size_t columns;
	uint64_t whole_bytes, added_bytes; /* of chunks */
	uint32_t *changed; /* rows below `rows` with new values, in any order, perhaps twice */
	size_t changed_count, changed_capacity;
};

struct epoch {
	char *path;
	struct epoch_options options;
	struct open_folder folder; /* its profile's lock says that we live */
	sqlite3 *db;
	struct profile_writer writer;
	struct profile *profile;
	struct stored *stored; /* one a table of the profile, as far as the file knows them */
	size_t stored_count;
	size_t stored_entries; /* of the byte pool */
	void *own_context;
	int broken; /* negative errno value: memory ran out inside a merge */
};

static int failed(struct error *err, int code, const char *path)
{
	return error_set(err, code, "cannot write '%s': %s", path, strerror(-code));
}

static int sqlite_failed(const struct epoch *epoch, int code, struct error *err)
{
	return error_set(err, guard_errno(epoch->db, code), "cannot write '%s': %s",
			 epoch->folder.path, guard_reason(epoch->db, code));
}

static void epoch_free(struct epoch *epoch)
{
	if (!epoch)
		return;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	for (size_t i = 0; i < epoch->stored_count; i++)
		free(epoch->stored[i].changed);
	free(epoch->stored);
	profile_free(epoch->profile);
	free(epoch->path);
	free(epoch->own_context);
	open_folder_release(&epoch->folder);
	free(epoch);
}

static void epoch_freep(struct epoch **epoch)
{
	epoch_free(*epoch);
}

/* ---- a leftover */

static bool is_empty(const struct profile *profile)
{
	for (size_t i = 0; i < profile->table_count; i++)
		if (profile->tables[i]->count)
			return false;
	return true;
}

/* Whether `path` is this very profile: its writer died after closing and before cleaning up. */
static bool is_closed_already(const char *path, const struct profile *profile)
{
	CLEANUP(profile_freep) struct profile *closed = NULL;
	CLEANUP(buffer_release) struct buffer left = { 0 };
	CLEANUP(buffer_release) struct buffer right = { 0 };
	struct stat found;
	if (lstat(path, &found) < 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
	    profile_file_read(path, &closed, NULL, NULL) < 0)
		return false;
	return profile_file_encode(profile, &left, NULL) == 0 &&
	       profile_file_encode(closed, &right, NULL) == 0 && left.size == right.size &&
	       memcmp(left.data, right.data, left.size) == 0;
}

static int prepare_closing(const struct epoch_options *options, struct profile *profile,
			   struct error *err)
{
	return options->before_close ? options->before_close(options->context, profile, err) : 0;
}

static int write_closed(const char *path, const struct epoch_options *options,
			const struct profile *profile, const struct profile_waiter *waiter,
			struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	int ret = profile_file_encode_for(waiter, profile, &bytes, err);
	if (ret < 0)
		return ret;
	return replace_file(path, bytes.data, bytes.size, options->mode ? options->mode : 0600,
			    options->earlier == EPOCH_REFUSE ? REPLACE_REFUSE : REPLACE_KEEP, err);
}

static int close_as_cut_off(const char *path, struct open_folder *folder,
			    const struct epoch_options *options, struct error *err)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	if (folder->profile < 0)
		return open_folder_remove(folder, err);
	int ret = profile_file_read_folder(folder->folder, folder->path, &profile, err);
	if (ret < 0) {
		error_prefix(err,
			     "the recording that was cut off before cannot be closed; "
			     "move '%s' away to record here",
			     folder->path);
		return ret;
	}
	if (is_empty(profile))
		return open_folder_remove(folder, err);
	ret = prepare_closing(options, profile, err);
	if (ret == 0 && !is_closed_already(path, profile)) {
		if (profile_add_bill(profile, 0, OPTIONAL_ABSENT, BILL_CUT_OFF, 1) < 0)
			return failed(err, -ENOMEM, path);
		ret = write_closed(path, options, profile, NULL, err);
	}
	return ret < 0 ? ret : open_folder_remove(folder, err);
}

static char *open_path_of(const char *path, const struct epoch_options *options)
{
	char *made = NULL;
	if (options->open_path)
		return strdup(options->open_path);
	return asprintf(&made, "%s.open", path) < 0 ? NULL : made;
}

int epoch_close_leftover(const char *path, const struct epoch_options *options, struct error *err)
{
	CLEANUP(free_pointer) char *open_path = open_path_of(path, options);
	CLEANUP(open_folder_release) struct open_folder folder = OPEN_FOLDER_NONE;
	if (!open_path)
		return failed(err, -ENOMEM, path);
	int ret = open_folder_take(open_path, &folder, err);
	if (ret < 0)
		return ret == -ENOENT ? 0 : ret;
	return close_as_cut_off(path, &folder, options, err);
}

/* ---- writing */

static void discard_changes(struct epoch *epoch)
{
	for (size_t i = 0; i < epoch->stored_count; i++)
		epoch->stored[i].changed_count = 0;
}

/* The file's declarations still are those of the profile. */
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

/* New rows and new values go behind what is there, until it is time to write the table anew. */
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

/* Declarations changed (a column or table nobody knew before): the file begins anew. */
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

/* What the file held before a transaction, to believe again when it fails. */
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

static void take_back(struct epoch *epoch, const struct before *before)
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

/*
 * Brings the file up to date in one transaction. When that fails the file is
 * what it was, our notes of it too, and what changed stays noted.
 */
static int store(struct epoch *epoch, struct error *err)
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
			take_back(epoch, &before);
		else if (code != SQLITE_OK && epoch->stored_count)
			epoch->stored[0].columns = 0; /* declare all again */
	}
	if (code != SQLITE_OK) {
		int ret = sqlite_failed(epoch, code, err);
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

/* The first bytes of an open file: an empty profile whose header says WAL mode. */
static int encode_empty(const struct epoch *epoch, struct buffer *bytes, struct error *err)
{
	enum { WRITE_VERSION = 18, READ_VERSION = 19, WAL_MODE = 2 };
	int ret = profile_file_encode(epoch->profile, bytes, err);
	if (ret == 0)
		bytes->data[WRITE_VERSION] = bytes->data[READ_VERSION] = WAL_MODE;
	return ret;
}

static int open_database(struct epoch *epoch, struct error *err)
{
	int code = open_folder_sqlite(&epoch->folder, &epoch->db);
	if (code != SQLITE_OK)
		return sqlite_failed(epoch, code, err);
	profile_writer_init(&epoch->writer, epoch->db);
	epoch->writer.coder.level = CHUNK_LEVEL_OPEN;
	return 0;
}

/* A folder under that name with us as its only writer, or what is in the way. */
static int make_open_folder(struct epoch *epoch, const char *open_path, struct error *err)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	mode_t mode = epoch->options.mode ? epoch->options.mode : 0600;
	int ret = encode_empty(epoch, &bytes, err);
	for (int i = 0; ret == 0 && i < BEGIN_ATTEMPTS; i++) {
		ret = epoch_close_leftover(epoch->path, &epoch->options, err);
		if (ret < 0)
			return ret;
		ret = open_folder_make(open_path, mode, bytes.data, bytes.size, &epoch->folder,
				       err);
		if (ret != -EEXIST)
			return ret;
		ret = 0; /* another came between */
	}
	return ret < 0 ? ret
		       : error_set(err, -EBUSY,
				   "cannot write '%s': another process makes it again and again",
				   open_path);
}

int epoch_open_with(const char *path, const struct epoch_options *options, struct epoch **out,
		    struct error *err)
{
	int ret = replace_file_check(
		path, options->earlier == EPOCH_REFUSE ? REPLACE_REFUSE : REPLACE_KEEP, err);
	if (ret < 0)
		return ret;
	struct stat found;
	if (options->earlier == EPOCH_REFUSE && lstat(path, &found) == 0)
		return failed(err, -EEXIST, path);
	CLEANUP(epoch_freep) struct epoch *epoch = calloc(1, sizeof(*epoch));
	if (!epoch)
		return failed(err, -ENOMEM, path);
	epoch->folder = (struct open_folder)OPEN_FOLDER_NONE;
	epoch->options = *options;
	if (options->context_bytes) {
		epoch->own_context = malloc(options->context_bytes);
		if (!epoch->own_context)
			return failed(err, -ENOMEM, path);
		memcpy(epoch->own_context, options->context, options->context_bytes);
		epoch->options.context = epoch->own_context;
	}
	epoch->path = strdup(path);
	epoch->profile = profile_new();
	CLEANUP(free_pointer) char *open_path = open_path_of(path, options);
	epoch->options.open_path = open_path;
	if (!epoch->path || !epoch->profile || !open_path)
		return failed(err, -ENOMEM, path);
	ret = make_open_folder(epoch, open_path, err);
	epoch->options.open_path = NULL; /* from here on epoch->folder has it */
	if (ret == 0)
		ret = open_database(epoch, err);
	if (ret == 0)
		ret = store(epoch, err);
	if (ret < 0) {
		if (epoch->folder.path)
			open_folder_remove(&epoch->folder, NULL);
		return ret;
	}
	*out = epoch;
	epoch = NULL; /* the caller's from here on */
	return 0;
}

int epoch_open(const char *path, enum epoch_earlier earlier, struct epoch **out, struct error *err)
{
	const struct epoch_options options = { .earlier = earlier };
	return epoch_open_with(path, &options, out, err);
}

static int note_row(void *context, size_t table, uint32_t row)
{
	struct epoch *epoch = context;
	if (table >= epoch->stored_count)
		return 0; /* new to the file: written whole */
	struct stored *stored = &epoch->stored[table];
	if (row >= stored->rows || epoch->profile->tables[table]->value_slots == 0)
		return 0;
	int ret = array_reserve(&stored->changed, &stored->changed_capacity, stored->changed_count,
				sizeof(*stored->changed));
	if (ret == 0)
		stored->changed[stored->changed_count++] = row;
	return ret;
}

int epoch_merge(struct epoch *epoch, const struct profile *delta, struct error *err)
{
	if (epoch->broken)
		return failed(err, epoch->broken, epoch->folder.path);
	int ret = profile_merge_noting(epoch->profile, delta, note_row, epoch, err);
	if (ret < 0) {
		epoch->broken = ret;
		return ret;
	}
	return store(epoch, err);
}

const struct profile *epoch_profile(const struct epoch *epoch)
{
	return epoch->profile;
}

/* The name is another's, not the folder full or gone. */
static bool is_in_the_way(int code)
{
	return code == -EPERM || code == -EISDIR || code == -ENXIO || code == -ENOTDIR ||
	       code == -ENOTEMPTY || code == -EEXIST;
}

/*
 * What somebody put in the way since the recording began does not cost it: it
 * gets a name of its own, which `err` says beside what failed.
 */
static int write_elsewhere(const struct epoch *epoch, struct error *err)
{
	struct epoch_options options = epoch->options;
	char name[PASSING_NAME_BYTES];
	CLEANUP(free_pointer) char *path = NULL;
	const char *base = output_base_name(epoch->path);
	options.earlier = EPOCH_REFUSE;
	if (passing_name_make(base, ".", name) < 0 ||
	    asprintf(&path, "%.*s%s", (int)(base - epoch->path), epoch->path, name) < 0)
		return failed(err, -ENOMEM, epoch->path);
	int ret = write_closed(path, &options, epoch->profile, NULL, NULL);
	if (ret == 0 && err)
		snprintf(err->text + strlen(err->text), sizeof(err->text) - strlen(err->text),
			 "; the profile is '%s' instead", path);
	return ret;
}

int epoch_close(struct epoch *epoch, struct error *err)
{
	return epoch_close_for(NULL, epoch, err);
}

int epoch_close_for(const struct profile_waiter *waiter, struct epoch *epoch, struct error *err)
{
	CLEANUP(epoch_freep) struct epoch *closing = epoch;
	struct error unwanted;
	err = err ? err : &unwanted;
	if (epoch->broken)
		return failed(err, epoch->broken, epoch->path);
	int written = prepare_closing(&epoch->options, epoch->profile, err);
	if (written == 0)
		written = write_closed(epoch->path, &epoch->options, epoch->profile, waiter, err);
	if (written < 0 && (epoch->options.earlier != EPOCH_KEEP_OLD || !is_in_the_way(written) ||
			    write_elsewhere(epoch, err) < 0))
		return written;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	epoch->db = NULL;
	int ret = open_folder_remove(&epoch->folder, written < 0 ? NULL : err);
	return written < 0 ? written : ret;
}

void epoch_discard(struct epoch *epoch)
{
	CLEANUP(epoch_freep) struct epoch *closing = epoch;
	profile_writer_release(&epoch->writer);
	sqlite3_close(epoch->db);
	epoch->db = NULL;
	open_folder_remove(&epoch->folder, NULL);
}

void epoch_abandon(struct epoch *epoch)
{
	epoch_free(epoch);
}
