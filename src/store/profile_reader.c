#include "store/profile_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "store/column_span.h"
#include "store/declaration.h"
#include "store/profile_reader_private.h"
#include "store/sqlite_guard.h"

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

int load_out_of_memory(struct load *load)
{
	return error_set(load->err, -ENOMEM, "out of memory reading profile '%s'",
			 load->options->name);
}

int load_fault(struct load *load, const char *format, ...)
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

int load_sqlite_fault(struct load *load, int code, const char *where)
{
	int ret = guard_errno(load->db, code);
	if (ret == -EBADMSG && load->options->fault && load->schema_is_ours)
		return load_fault(load, "%s: %s", where, guard_reason(load->db, code));
	if (ret == -EBADMSG)
		return error_set(load->err, ret, "profile '%s' is damaged: %s (%s)",
				 load->options->name, guard_reason(load->db, code), where);
	if (ret == -ENOMEM)
		return load_out_of_memory(load);
	return error_set(load->err, ret, "cannot read profile '%s': %s", load->options->name,
			 guard_reason(load->db, code));
}

static int load_relation(struct load *load, const struct relation *relation)
{
	return declaration_is_rows(relation->name) ? load_sql_rows(load, relation)
						   : load_chunk_rows(load, relation);
}

/* Reads the dictionaries in the order in which they refer to each other, then all other tables. */
static int read_content(struct load *load)
{
	for (int i = 0; i < PROFILE_DICTIONARIES; i++) {
		const struct relation *relation =
			load_find_relation(load, profile_table_name((enum profile_table)i));
		int ret = relation ? load_relation(load, relation) : 0;
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < load->relation_count; i++) {
		const struct relation *relation = &load->relations[i];
		bool dictionary = false;
		for (int j = 0; j < PROFILE_DICTIONARIES; j++)
			dictionary = dictionary || relation->table == load->profile->tables[j];
		int ret = dictionary ? 0 : load_relation(load, relation);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < load->chunk_count; i++) {
		bool known = load->chunks[i].relation == 0;
		for (size_t j = 0; !known && j < load->relation_count; j++)
			known = load->relations[j].id == load->chunks[i].relation &&
				!declaration_is_rows(load->relations[j].name);
		int ret = known ? 0
				: load_fault(load, "chunk %lld belongs to no table",
					     (long long)load->chunks[i].rowid);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Compares the stable hashes in a dictionary with its rows. culprit does not use those in the file,
 * but a column store joins rows of many files by them. */
static int check_stable_hashes_of(struct load *load, enum profile_table which)
{
	const char *name = profile_table_name(which);
	size_t count = load->profile->tables[which]->count;
	CLEANUP(free_pointer) struct hash128 *names = calloc(count + 1, sizeof(*names));
	if (!names || profile_stable_names(load->profile, which, names) < 0)
		return load_out_of_memory(load);
	char sql[64];
	snprintf(sql, sizeof(sql), "SELECT id,stable_hash FROM %s", name);
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, sql, -1, &statement, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		int64_t id = sqlite3_column_int64(statement, 0);
		if (id < 1 || (uint64_t)id > count)
			continue; /* a fault already */
		struct span wanted = { names + (id - 1), sizeof(*names) };
		if (span_equal(wanted, column_span(statement, 1)))
			continue;
		int ret =
			load_fault(load, "%s %lld: its stable hash is wrong", name, (long long)id);
		if (ret < 0)
			return ret;
	}
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, name);
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

/* Makes the profile and reads schema and declarations, before any other table. */
static int begin_load(struct load *load)
{
	const struct profile_reader_options *options = load->options;
	*load->counts = (struct profile_reader_counts){ 0 };
	load->unpack_left = PROFILE_UNPACK_BASE_BYTES + options->file_bytes * PROFILE_UNPACK_RATIO;
	chunk_coder_init(&load->coder);
	load->profile = profile_new();
	if (!load->profile)
		return load_out_of_memory(load);
	int ret = load_schema(load);
	if (ret == 0)
		ret = load_relations(load);
	if (ret == 0)
		ret = load_row_schemas(load);
	load->schema_is_ours = ret == 0;
	return ret;
}

int profile_reader_load_sources(struct guard *guard, const struct profile_reader_options *options,
				struct profile **out, struct error *err)
{
	struct profile_reader_counts counts;
	CLEANUP(load_release)
	struct load load = { .db = guard->db, .options = options, .err = err, .counts = &counts };
	int ret = begin_load(&load);
	for (size_t i = 0; ret == 0 && i < load.relation_count; i++) {
		struct relation *relation = &load.relations[i];
		if (strcmp(relation->name, profile_table_name(PROFILE_SOURCE)) != 0 &&
		    (!options->with_images ||
		     strcmp(relation->name, profile_table_name(PROFILE_IMAGE)) != 0))
			continue;
		ret = load_place_relation(&load, relation);
		if (ret == 0)
			ret = load_relation(&load, relation);
	}
	if (ret < 0)
		return ret;
	*out = load.profile;
	load.profile = NULL; /* the caller's from here on */
	return 0;
}

int profile_reader_load(struct guard *guard, const struct profile_reader_options *options,
			struct profile **out, struct profile_reader_counts *counts,
			struct error *err)
{
	CLEANUP(load_release)
	struct load load = { .db = guard->db, .options = options, .err = err };
	struct profile_reader_counts unwanted;
	load.counts = counts ? counts : &unwanted;
	int ret = begin_load(&load);
	if (ret == 0)
		ret = load_check_seal(&load);
	for (size_t i = 0; ret == 0 && i < load.relation_count; i++)
		ret = load_place_relation(&load, &load.relations[i]);
	if (ret == 0)
		ret = load_chunk_places(&load);
	if (ret == 0)
		ret = load_pool(&load);
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
