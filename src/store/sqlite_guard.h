/*
 * sqlite_guard - SQLite connections that expect the worst of a file: defensive,
 * without trusted schema, views or triggers, with lowered limits and a budget
 * of operations after which every statement is interrupted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#define GUARD_MAX_VALUE_BYTES (16 << 20) /* of one value or row; a chunk stores less */

struct guard {
	sqlite3 *db;
	uint64_t operations_left; /* in units of GUARD_STEP_OPERATIONS; at 0 statements are
				     interrupted */
};
#define GUARD_STEP_OPERATIONS 4096

/* Hardens `guard->db`; the budget grows with the size of the file. Returns an SQLite result code.
 */
int guard_harden(struct guard *guard, uint64_t file_bytes);
void guard_close(struct guard *guard); /* for CLEANUP(); also right for a zeroed one */

/* Opens and hardens a connection over bytes in memory, which outlive it and do not change. Returns
 * an SQLite result code. */
int guard_open_bytes(struct guard *guard, const void *bytes, size_t size);

/* The negative errno value, and the words, for an SQLite result code. `db` (NULL: none) is the
 * connection that gave it. */
int guard_errno(sqlite3 *db, int code);
const char *guard_reason(sqlite3 *db, int code);
