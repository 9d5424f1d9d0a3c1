/*
 * profile_writer - puts a profile's tables into an SQLite database, as
 * docs/profile-format.md says, and keeps its seal. Shared by closed files,
 * which are written once, and open epochs, which add to what is there.
 *
 * Functions return an SQLite result code. The caller begins and commits
 * transactions; after a rollback the writer's seals must be put back
 * (profile_writer_save, profile_writer_restore).
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
 * Groups of the pool's entries that lie together: 0 texts and all else, or mixed; then the stash's
 * contents by kind (symbol/record.h), those of higher kinds in the last.
 */
#define POOL_GROUPS	 5
#define POOL_GROUP_CODE	 RECORD_CODE
#define POOL_GROUP_OTHER (POOL_GROUPS - 1)

/* Whoever waits for what is written, and may not want it any more. */
struct profile_waiter {
	bool (*is_gone)(void *context);
	void *context;
};

struct profile_writer {
	sqlite3 *db;
	const struct profile_waiter *waiter; /* borrowed; asked before each chunk, which then fails
						with SQLITE_ABORT; NULL: nobody is asked */
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
/* All tables and declarations; tables with nothing to say are left out when `omit_empty`. */
enum profile_writer_tables { PROFILE_WRITER_USED_TABLES, PROFILE_WRITER_ALL_TABLES };
int profile_writer_schema(struct profile_writer *writer, const struct profile *profile,
			  enum profile_writer_tables which);

/* Rows `first` to the end of table `index`, one of those kept as SQL rows. */
int profile_writer_add_rows(struct profile_writer *writer, const struct profile *profile,
			    size_t index, size_t first);
/* Forgets what the file holds of table `index` (rows or chunks). */
int profile_writer_clear(struct profile_writer *writer, const struct profile *profile,
			 size_t index);
/* Likewise of any other table, as chunks split between images; `pool_ids` as in chunk.h. */
int profile_writer_add_chunks(struct profile_writer *writer, const struct profile *profile,
			      size_t index, size_t first, const uint32_t *pool_ids);
int profile_writer_update(struct profile_writer *writer, const struct profile *profile,
			  size_t index, const uint32_t *rows, size_t count);
/* Entries ids[0..count-1] of the pool; `group` says what they are (0: mixed or texts). */
int profile_writer_add_pool(struct profile_writer *writer, const struct profile *profile,
			    const uint32_t *ids, const uint32_t *file_ids, size_t count,
			    uint64_t group);
/* Writes the sum of all seals into the table "meta". */
int profile_writer_seal(struct profile_writer *writer);
