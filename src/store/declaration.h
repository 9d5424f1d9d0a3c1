/*
 * declaration - the text in a file that declares a table:
 * "event:event:key,vaddr:u64:key,estimate:u64:sum". From it follow how rows are
 * read, renumbered and merged, and, for the tables that are kept as SQL rows,
 * their CREATE TABLE statement, to the byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/span.h"
#include "profile/table.h"

#define DECLARATION_MAX_BYTES 4096 /* 32 columns of at most 32 + 20 characters stay below */

/* Appends the text that declares these columns. */
void declaration_put(struct buffer *out, const struct column *columns, size_t count);

/* Fills `columns` (TABLE_MAX_COLUMNS of them). Returns NULL, or what is wrong with the text. */
const char *declaration_parse(struct span text, struct column *columns, size_t *count);

/*
 * NULL when a table of that name may be declared so: the columns make a table, known
 * columns have the type and rule of profile_columns(), and dictionaries refer only to
 * tables before them. Else what is wrong.
 */
const char *declaration_fault(const char *table, const struct column *columns, size_t count);

/* Tables that are SQL rows in the file: event, image, context, source. The others are chunks. */
bool declaration_is_rows(const char *table);
/* Of those, the ones that carry a stable hash: event, image, context. */
bool declaration_is_named(const char *table);
/* Appends the CREATE TABLE statement of a table that is kept as SQL rows. */
void declaration_create(struct buffer *out, const char *table, const struct column *columns,
			size_t count);
