/*
 * seal - one 128-bit number over all rows of a file: the sum, modulo 2^128, of
 * the hash of each row (XXH3 over table, rowid and typed columns). A sum, so an
 * open epoch that adds and replaces rows keeps it right without reading the
 * others. It finds damage; it does not stop a forger, and nothing relies on that.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct sqlite3_stmt;

struct seal {
	unsigned __int128 sum;
};

/* The bytes of a row that are hashed. One may serve many rows; the caller releases it. */
struct seal_row {
	struct buffer bytes;
};

void seal_row_release(struct seal_row *row);
void seal_row_begin(struct seal_row *row, const char *table, int64_t rowid);
void seal_row_integer(struct seal_row *row, int64_t value);
void seal_row_text(struct seal_row *row, struct span text);
void seal_row_blob(struct seal_row *row, struct span blob);
void seal_row_null(struct seal_row *row);
/* All of the row that a statement stands on, whose first column is the rowid. */
void seal_row_spell(struct seal_row *row, const char *table, struct sqlite3_stmt *statement);
/* Adds the row. The caller checks buffer_failed(&row->bytes) before: with it the seal would be
 * wrong. */
void seal_add(struct seal *seal, const struct seal_row *row);

/* The 16 bytes in the file, low byte first. */
#define SEAL_SIZE 16
void seal_bytes(const struct seal *seal, uint8_t out[SEAL_SIZE]);
