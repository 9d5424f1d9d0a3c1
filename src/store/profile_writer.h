/*
 * profile_writer - puts a profile's tables into an SQLite database, as
 * docs/profile-format.md says, and keeps its seal. Shared by closed files,
 * which are written once, and open epochs, which add to what is there.
 *
 * Functions return an SQLite result code. The caller begins and commits
 * transactions; after a rollback it puts back `declared`, `parts` and
 * `next_chunk` as they were (epoch_store.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "profile/profile.h"
#include "store/chunk.h"
#include "store/seal.h"
#include "symbol/record.h"

#define PROFILE_FORMAT_APPLICATION_ID 0x43504c54 /* "CPLT" */
#define PROFILE_FORMAT_VERSION	      1
#define PROFILE_FORMAT_PAGE_BYTES     1024

#define PROFILE_SCHEMA_META "CREATE TABLE meta(name TEXT,value BLOB)"
#define PROFILE_SCHEMA_RELATION                                                                    \
	"CREATE TABLE relation(id INTEGER PRIMARY KEY,name TEXT,columns TEXT)"
#define PROFILE_SCHEMA_CHUNK                                                                       \
	"CREATE TABLE chunk(relation INTEGER,event INTEGER,image INTEGER,first INTEGER,"           \
	"rows INTEGER,data BLOB)"
#define PROFILE_SEAL_NAME "seal"

/*
 * Groups of the pool's entries, each stored together: 0 texts, or a mixture; then the contents of
 * the stash by kind (symbol/record.h), those of higher kinds in the last.
 */
#define POOL_GROUPS	 5
#define POOL_GROUP_CODE	 RECORD_CODE
#define POOL_GROUP_OTHER (POOL_GROUPS - 1)

/* The one that a profile is written for, such as a client: writing stops when it is gone. */
struct profile_waiter {
	bool (*is_gone)(void *context);
	void *context;
};

struct profile_writer {
	sqlite3 *db;
	const struct profile_waiter *waiter; /* borrowed, or NULL; checked before each chunk, which
						fails with SQLITE_ABORT once the waiter is gone */
	struct sqlite3_stmt *insert_chunk;
	struct chunk_coder coder;
	struct seal_row row;
	struct seal declared; /* over the table "relation" */
	struct seal *parts;   /* [0] the byte pool, [i + 1] table i of the profile */
	size_t part_count;
	int64_t next_chunk;    /* rowid */
	uint64_t stored_bytes; /* of chunks written since the writer was made */
};

void profile_writer_init(struct profile_writer *writer, sqlite3 *db);
void profile_writer_release(struct profile_writer *writer);

/* Page size, application id and format version of a database without content. */
int profile_writer_prepare(sqlite3 *db);
/* PROFILE_WRITER_USED_TABLES leaves out known tables without rows and without unknown columns. */
enum profile_writer_tables { PROFILE_WRITER_USED_TABLES, PROFILE_WRITER_ALL_TABLES };
/* Makes all SQL tables and writes the declarations; forgets what was written before. */
int profile_writer_schema(struct profile_writer *writer, const struct profile *profile,
			  enum profile_writer_tables which);

/* Writes rows `first` to the last of table `index`, one that declaration_is_rows(). */
int profile_writer_add_rows(struct profile_writer *writer, const struct profile *profile,
			    size_t index, size_t first);
/* Deletes what the file holds of table `index`, rows or chunks. */
int profile_writer_clear(struct profile_writer *writer, const struct profile *profile,
			 size_t index);
/* Writes rows `first` to the last of any other table, as chunks that end where event or image
 * change; `pool_ids` as in chunk.h. */
int profile_writer_add_chunks(struct profile_writer *writer, const struct profile *profile,
			      size_t index, size_t first, const uint32_t *pool_ids);
/* Writes new values of rows that are in the file already. */
int profile_writer_update(struct profile_writer *writer, const struct profile *profile,
			  size_t index, const uint32_t *rows, size_t count);
/* Writes entries ids[0..count-1] of the pool under the numbers file_ids[]; `group` says what they
 * are (0: mixed or texts). */
int profile_writer_add_pool(struct profile_writer *writer, const struct profile *profile,
			    const uint32_t *ids, const uint32_t *file_ids, size_t count,
			    uint64_t group);
/* Writes the sum of all seals into the table "meta". */
int profile_writer_seal(struct profile_writer *writer);
