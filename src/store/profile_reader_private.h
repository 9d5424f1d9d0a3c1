/*
 * profile_reader_private - a profile while it is being read from its tables: what
 * profile_reader.c (the order of things), profile_schema.c (schema,
 * declarations, seal) and profile_chunks.c (byte pool and rows) share. Nothing
 * else includes it.
 *
 * The functions return 0 or a negative errno value with load->err filled. A
 * fault that reading may survive is told to load->options->fault when there is
 * one, and reading goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "profile/profile.h"
#include "store/chunk.h"
#include "store/profile_reader.h"

struct error;

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

static inline void load_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

/* ---- profile_reader.c */
int load_out_of_memory(struct load *load);
/* A fault that reading may survive: 0 to go on, or a negative errno value. */
__attribute__((format(printf, 2, 3))) int load_fault(struct load *load, const char *format, ...);
/* What SQLite said. While salvaging, a damaged table ends where it is damaged. */
int load_sqlite_fault(struct load *load, int code, const char *where);

/* ---- profile_schema.c, in the order of their use */
int load_schema(struct load *load);
int load_relations(struct load *load);
int load_row_schemas(struct load *load);
int load_check_seal(struct load *load);
int load_place_relation(struct load *load, struct relation *relation);
const struct relation *load_find_relation(const struct load *load, const char *name); /* or NULL */

/* ---- profile_chunks.c, likewise */
int load_chunk_places(struct load *load);
int load_pool(struct load *load);
int load_relation(struct load *load, const struct relation *relation);
