/*
 * column_span - the bytes of a column of the row that a statement stands on.
 */
#pragma once

#include <stddef.h>

#include <sqlite3.h>

#include "base/span.h"

/* Of a BLOB or TEXT; valid until the statement goes on. Empty for NULL, but its data never is NULL.
 */
static inline struct span column_span(sqlite3_stmt *statement, int column)
{
	const void *data = sqlite3_column_blob(statement, column); /* of TEXT too */
	return (struct span){ data ? data : "", (size_t)sqlite3_column_bytes(statement, column) };
}
