#include "store/sqlite_guard.h"

#include <errno.h>
#include <string.h>

static int spend(void *context)
{
	struct guard *guard = context;
	if (guard->operations_left == 0)
		return 1;
	guard->operations_left--;
	return 0;
}

static void lower_limits(sqlite3 *db)
{
	static const int limits[][2] = {
		{ SQLITE_LIMIT_LENGTH, GUARD_MAX_VALUE_BYTES },
		{ SQLITE_LIMIT_SQL_LENGTH, 16384 },
		{ SQLITE_LIMIT_COLUMN, 64 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 8 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 2 },
		{ SQLITE_LIMIT_VDBE_OP, 4096 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 4 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 16 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 64 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		sqlite3_limit(db, limits[i][0], limits[i][1]);
}

int guard_harden(struct guard *guard, uint64_t file_bytes)
{
	sqlite3 *db = guard->db;
	/* A row costs about 50 operations, and at least 4 bytes of file. */
	guard->operations_left = 1000 + file_bytes / 64;
	sqlite3_progress_handler(db, GUARD_STEP_OPERATIONS, spend, guard);
	lower_limits(db);
	static const int settings[][2] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	};
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int code = sqlite3_db_config(db, settings[i][0], settings[i][1], NULL);
		if (code != SQLITE_OK)
			return code;
	}
	return sqlite3_exec(db,
			    "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
			    "PRAGMA temp_store=MEMORY; PRAGMA query_only=ON",
			    NULL, NULL, NULL);
}

void guard_close(struct guard *guard)
{
	sqlite3_close(guard->db);
	guard->db = NULL;
}

int guard_open_bytes(struct guard *guard, const void *bytes, size_t size)
{
	int code = sqlite3_open_v2(":memory:", &guard->db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code != SQLITE_OK)
		return code;
	/* Read-only: SQLite does not write through the pointer. */
	code = sqlite3_deserialize(guard->db, "main", (unsigned char *)bytes, (sqlite3_int64)size,
				   (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY);
	return code == SQLITE_OK ? guard_harden(guard, size) : code;
}

int guard_errno(sqlite3 *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
	case SQLITE_ERROR:
	case SQLITE_INTERRUPT:
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN: {
		int reason = db ? sqlite3_system_errno(db) : 0;
		return reason ? -reason : -EIO;
	}
	default:
		return -EIO;
	}
}

const char *guard_reason(sqlite3 *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return strerror(ENOSPC);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return strerror(-guard_errno(db, code));
	case SQLITE_INTERRUPT:
		return "reading it takes longer than any profile of its size can";
	default:
		return sqlite3_errstr(code);
	}
}
