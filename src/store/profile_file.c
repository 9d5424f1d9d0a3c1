#include "store/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/canonical.h"
#include "profile/profile.h"
#include "store/declaration.h"
#include "store/file_source.h"
#include "store/profile_reader.h"
#include "store/profile_writer.h"
#include "store/replace_file.h"
#include "store/sqlite_guard.h"

#define CLOSED_MODE 0600
/* SQLite notes its own version here; a constant keeps equal content equal bytes. */
#define SQLITE_VERSION_OFFSET  96
#define SQLITE_VERSION_WRITTEN 3040001u

#define NOT_IN_POOL UINT8_MAX /* in place of an entry's group */

/* Stores the group of each entry of the pool: the lowest group of the rows that name it. */
static void group_entries(const struct canonical *canonical, uint8_t *groups)
{
	const struct profile *from = canonical->from;
	const struct table *stash = profile_table(from, PROFILE_STASH);
	for (size_t i = 0; i < from->table_count; i++) {
		const struct table *table = from->tables[i];
		const uint32_t *kept =
			i < PROFILE_DICTIONARIES ? canonical->ids.dictionaries[i] : NULL;
		for (size_t c = 0; c < table->column_count; c++) {
			if (table->columns[c].type != COLUMN_BYTES ||
			    declaration_is_rows(table->name))
				continue;
			size_t slot = table_column_slot(table, c);
			bool content = table == stash && slot == STASH_CONTENT;
			for (size_t row = 0; row < table->count; row++) {
				if (kept && !kept[row + 1])
					continue;
				const uint64_t *keys = table_keys(table, row);
				uint64_t kind = content ? keys[STASH_KIND] : 0;
				uint8_t group =
					kind < POOL_GROUP_OTHER ? (uint8_t)kind : POOL_GROUP_OTHER;
				uint32_t id = canonical->ids.bytes[keys[slot]];
				if (group < groups[id])
					groups[id] = group;
			}
		}
	}
}

/*
 * Entries that only SQL rows name are texts there and stay out of the pool; the
 * others are numbered densely in their canonical order.
 */
static int write_pool(struct profile_writer *writer, const struct canonical *canonical,
		      uint32_t *file_ids)
{
	const struct profile *profile = canonical->made;
	size_t count = profile->bytes.count;
	CLEANUP(free_pointer) uint8_t *groups = malloc(count + 1);
	CLEANUP(free_pointer) uint32_t *ids = calloc(count + 1, sizeof(*ids));
	CLEANUP(free_pointer) uint32_t *numbers = calloc(count + 1, sizeof(*numbers));
	if (!groups || !ids || !numbers)
		return SQLITE_NOMEM;
	memset(groups, NOT_IN_POOL, count + 1);
	group_entries(canonical, groups);
	uint32_t next = 0;
	for (uint32_t id = 1; id <= count; id++)
		if (groups[id] != NOT_IN_POOL)
			file_ids[id] = ++next;
	int code = SQLITE_OK;
	for (uint8_t group = 0; code == SQLITE_OK && group < POOL_GROUPS; group++) {
		size_t found = 0;
		for (uint32_t id = 1; id <= count; id++) {
			if (groups[id] != group)
				continue;
			ids[found] = id;
			numbers[found++] = file_ids[id];
		}
		code = profile_writer_add_pool(writer, profile, ids, numbers, found, group);
	}
	return code;
}

static int write_table(struct profile_writer *writer, struct canonical *canonical, size_t index,
		       const uint32_t *file_ids)
{
	const struct profile *profile = canonical->made;
	if (canonical_fill(canonical, index) < 0)
		return SQLITE_NOMEM;
	int code = declaration_is_rows(profile->tables[index]->name)
			   ? profile_writer_add_rows(writer, profile, index, 0)
			   : profile_writer_add_chunks(writer, profile, index, 0, file_ids);
	canonical_drop(canonical, index);
	return code;
}

static int write_tables(struct profile_writer *writer, struct canonical *canonical)
{
	const struct profile *profile = canonical->made;
	CLEANUP(free_pointer)
	uint32_t *file_ids = calloc(profile->bytes.count + 1, sizeof(*file_ids));
	if (!file_ids)
		return SQLITE_NOMEM;
	int code = profile_writer_prepare(writer->db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = profile_writer_schema(writer, profile, PROFILE_WRITER_USED_TABLES);
	if (code == SQLITE_OK)
		code = write_pool(writer, canonical, file_ids);
	for (size_t i = 0; code == SQLITE_OK && i < profile->table_count; i++)
		code = write_table(writer, canonical, i, file_ids);
	if (code == SQLITE_OK)
		code = profile_writer_seal(writer);
	if (code == SQLITE_OK)
		code = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
	return code;
}

static int copy_out(sqlite3 *db, struct buffer *out)
{
	sqlite3_int64 size = 0;
	unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
	if (!bytes)
		return SQLITE_NOMEM;
	for (int i = 0; i < 4; i++)
		bytes[SQLITE_VERSION_OFFSET + i] =
			(uint8_t)(SQLITE_VERSION_WRITTEN >> (24 - 8 * i));
	buffer_append(out, bytes, (size_t)size);
	sqlite3_free(bytes);
	return buffer_failed(out) ? SQLITE_NOMEM : SQLITE_OK;
}

enum packing { PACK_COMPRESSED, PACK_STORED };

static int encode(struct canonical *canonical, enum packing packing,
		  const struct profile_waiter *waiter, struct buffer *out)
{
	CLEANUP(guard_close) struct guard guard = { 0 };
	int code = sqlite3_open_v2(":memory:", &guard.db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	CLEANUP(profile_writer_release) struct profile_writer writer;
	profile_writer_init(&writer, guard.db);
	writer.coder.compress = packing == PACK_COMPRESSED;
	writer.waiter = waiter;
	if (code == SQLITE_OK)
		code = write_tables(&writer, canonical);
	return code == SQLITE_OK ? copy_out(guard.db, out) : code;
}

int profile_file_encode_for(const struct profile_waiter *waiter, const struct profile *profile,
			    struct buffer *out, struct error *err)
{
	CLEANUP(canonical_release) struct canonical canonical = { 0 };
	if (canonical_begin(&canonical, profile) < 0)
		return error_set(err, -ENOMEM, "out of memory writing a profile");
	size_t before = out->size;
	int code = encode(&canonical, PACK_COMPRESSED, waiter, out);
	uint64_t size = out->size - before;
	/* Half of what a reader allows, for it counts a text again in each row, and we once. */
	if (code == SQLITE_OK &&
	    profile_unpacked_bytes(canonical.made) / 2 >
		    PROFILE_UNPACK_BASE_BYTES / 4 + size * (PROFILE_UNPACK_RATIO / 4)) {
		out->size = before;
		code = encode(&canonical, PACK_STORED, waiter, out);
	}
	if (code == SQLITE_OK)
		return 0;
	if (code == SQLITE_ABORT)
		return error_set(err, -ECANCELED, "the profile was not written: asked to end");
	return error_set(err, guard_errno(NULL, code), "cannot write a profile: %s",
			 guard_reason(NULL, code));
}

int profile_file_encode(const struct profile *profile, struct buffer *out, struct error *err)
{
	return profile_file_encode_for(NULL, profile, out, err);
}

int profile_file_write(const char *path, const struct profile *profile, struct error *err)
{
	int ret = replace_file_check(path, REPLACE_DROP, err);
	if (ret < 0)
		return ret;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	ret = profile_file_encode(profile, &bytes, err);
	if (ret < 0)
		return ret;
	return replace_file(path, bytes.data, bytes.size, CLOSED_MODE, REPLACE_DROP, err);
}

static void fill_info(struct profile_file_info *info, const struct profile_reader_counts *counts)
{
	if (!info)
		return;
	info->stash_bytes = counts->stash_bytes;
	info->unknown_tables = counts->unknown_tables;
}

int profile_file_decode_part(const void *bytes, size_t size, const char *name,
			     enum profile_file_part part, struct profile **out,
			     struct profile_file_info *info, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { 0 };
	if (info)
		*info = (struct profile_file_info){ .file_bytes = size };
	int ret = file_source_of_bytes(&source, bytes, size, name, err);
	if (ret < 0)
		return ret;
	struct profile_reader_options options = {
		.name = name, .file_bytes = size, .without_code = part == PROFILE_FILE_WITHOUT_CODE
	};
	struct profile_reader_counts counts;
	ret = profile_reader_load(&source.guard, &options, out, &counts, err);
	if (ret == 0)
		fill_info(info, &counts);
	return ret;
}

int profile_file_decode(const void *bytes, size_t size, const char *name, struct profile **out,
			struct profile_file_info *info, struct error *err)
{
	return profile_file_decode_part(bytes, size, name, PROFILE_FILE_WHOLE, out, info, err);
}

static int load_source(struct file_source *source, enum profile_file_part part,
		       struct profile **out, struct profile_file_info *info, struct error *err)
{
	if (info)
		*info = (struct profile_file_info){ .cut_off = source->is_open_epoch &&
							       !source->being_written,
						    .being_written = source->being_written,
						    .file_bytes = source->file_bytes };
	struct profile_reader_options options = { .name = source->name,
						  .file_bytes = source->content_bytes,
						  .without_code =
							  part == PROFILE_FILE_WITHOUT_CODE };
	struct profile_reader_counts counts;
	int ret = profile_reader_load(&source->guard, &options, out, &counts, err);
	if (ret == 0)
		fill_info(info, &counts);
	return ret;
}

int profile_file_read_part(const char *path, enum profile_file_part part, struct profile **out,
			   struct profile_file_info *info, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { 0 };
	int ret = file_source_open(&source, path, err);
	return ret < 0 ? ret : load_source(&source, part, out, info, err);
}

int profile_file_read_unlinked(const char *path, struct profile **out,
			       struct profile_file_info *info, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { .no_links = true };
	int ret = file_source_open(&source, path, err);
	return ret < 0 ? ret : load_source(&source, PROFILE_FILE_WHOLE, out, info, err);
}

static int read_tables(const char *path, bool with_images, struct profile **out,
		       struct profile_file_info *info, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { .no_links = true };
	int ret = file_source_open_pages(&source, path, err);
	if (ret == -EAGAIN)
		return profile_file_read_unlinked(path, out, info, err);
	if (ret < 0)
		return ret;
	const struct profile_reader_options options = { .name = source.name,
							.file_bytes = source.content_bytes,
							.with_images = with_images };
	*info = (struct profile_file_info){ .file_bytes = source.file_bytes };
	return profile_reader_load_sources(&source.guard, &options, out, err);
}

int profile_file_read_sources(const char *path, struct profile **out,
			      struct profile_file_info *info, struct error *err)
{
	return read_tables(path, false, out, info, err);
}

int profile_file_read_images(const char *path, struct profile **out, struct profile_file_info *info,
			     struct error *err)
{
	return read_tables(path, true, out, info, err);
}

int profile_file_read_folder(int folder, const char *name, struct profile **out, struct error *err)
{
	CLEANUP(file_source_close) struct file_source source = { 0 };
	int ret = file_source_open_folder(&source, folder, name, err);
	return ret < 0 ? ret : load_source(&source, PROFILE_FILE_WHOLE, out, NULL, err);
}

int profile_file_read(const char *path, struct profile **out, struct profile_file_info *info,
		      struct error *err)
{
	return profile_file_read_part(path, PROFILE_FILE_WHOLE, out, info, err);
}
