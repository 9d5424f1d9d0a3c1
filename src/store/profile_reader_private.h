/*
 * profile_reader_private - a profile while it is read from the tables of a file. Shared by
 * profile_reader.c    the order of the steps
 * profile_schema.c    schema, declarations, seal
 * profile_chunks.c    where chunks are, and decoding them one after another
 * profile_pool.c      the byte pool: our number for each of the file's
 * chunk_rows.c        rows of the tables that are kept as chunks
 * sql_rows.c          rows of the tables that are kept as SQL rows
 *
 * The functions return 0 or a negative errno value with load->err filled, unless
 * they say otherwise. A fault that reading may survive is reported to
 * load->options->fault when there is one, and reading goes on.
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
	struct table *table;		 /* ours: from load_place_relation() on, as the next */
	size_t slots[TABLE_MAX_COLUMNS]; /* in `table`, among its keys or its values */
};

/* A row of the table "chunk", without its data. */
struct chunk_place {
	int64_t rowid;
	int64_t relation; /* 0: the byte pool */
	int64_t event;	  /* of the pool's chunks: their group */
	uint64_t size;	  /* of the data, in bytes */
};

struct load {
	sqlite3 *db;
	const struct profile_reader_options *options;
	struct error *err;
	struct profile *profile;
	struct profile_reader_counts *counts;
	struct relation *relations; /* by id */
	size_t relation_count, relation_capacity;
	struct chunk_place *chunks; /* by rowid */
	size_t chunk_count, chunk_capacity;
	uint32_t *pool; /* the file's number of an entry -> ours; 0: not there, or left out */
	size_t pool_size;
	bool entries_left_out; /* of the pool, as options->without_code wants */
	struct chunk_coder coder;
	uint64_t unpack_left; /* bytes of memory that rows and entries may still take */
	char *row_schemas[ROW_TABLES];
	bool schema_is_ours; /* known once load_row_schemas() succeeded */
};

static inline void load_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

/* The table that a column of this type refers to; known before the column is read. */
static inline const struct table *load_target(const struct load *load, enum column_type type)
{
	return load->profile->tables[PROFILE_EVENT + (type - COLUMN_EVENT)];
}

/* ---- profile_reader.c */
int load_out_of_memory(struct load *load);
/* A fault that reading may survive: 0 to go on, or a negative errno value. */
__attribute__((format(printf, 2, 3))) int load_fault(struct load *load, const char *format, ...);
/* The fault that an SQLite result code stands for, at `where`. While salvaging, a damaged table
 * ends where it is damaged: 0. Else a negative errno value. */
int load_sqlite_fault(struct load *load, int code, const char *where);

/* ---- profile_schema.c, in the order of their use */

/* The schema has our tables and nothing else; keeps the statements of those that depend on
 * declarations in load->row_schemas. */
int load_schema(struct load *load);
/* Fills load->relations from the table "relation". */
int load_relations(struct load *load);
/* The statements in load->row_schemas are those that the declarations make. */
int load_row_schemas(struct load *load);
/* The seal is that of all rows. Rowids rise, and all rows together fit in the file. */
int load_check_seal(struct load *load);
/* Makes our table for a relation: known columns first, the file's others behind. */
int load_place_relation(struct load *load, struct relation *relation);
const struct relation *load_find_relation(const struct load *load, const char *name); /* or NULL */

/* ---- profile_chunks.c */

/* Fills load->chunks. */
int load_chunk_places(struct load *load);
/* Counts `count` rows or entries of `each` bytes towards what a file of this size may unpack to. */
int load_spend_memory(struct load *load, uint64_t count, uint64_t each);

/* The chunks of one relation, one after the other. The caller fills the first four. */
struct chunk_walk {
	const char *name; /* of the table, in messages; "bytes" of the pool */
	int64_t relation; /* 0: the byte pool */
	const struct column *columns;
	size_t column_count;
	sqlite3_stmt *statement;
	size_t at;	    /* in load->chunks */
	struct chunk chunk; /* the last that was decoded, and where it is from */
	int64_t rowid;
};
int load_walk_begin(struct load *load, struct chunk_walk *walk);
/* Decodes the next chunk into walk->chunk: 1; 0 at the end; or a negative errno value. Damaged
 * chunks are reported and passed over. */
int load_walk_next(struct load *load, struct chunk_walk *walk);
void load_walk_release(struct chunk_walk *walk); /* for CLEANUP() */

/* ---- profile_pool.c: fills load->pool */
int load_pool(struct load *load);

/* ---- chunk_rows.c and sql_rows.c: the rows of a placed relation, into its table. What they refer
 * to (the pool, other tables) is read before. */
int load_chunk_rows(struct load *load, const struct relation *relation);
int load_sql_rows(struct load *load, const struct relation *relation);
