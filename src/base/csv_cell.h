/*
 * csv_cell - a text as a cell of separated values: quoted as RFC 4180 has it where it must be, made
 * visible (base/visible_text.h), and harmless to spreadsheets, which run a cell that begins like a
 * formula.
 */
#pragma once

#include "base/buffer.h"
#include "base/span.h"

/* An empty text is "". `scratch` is reused by every cell. Failure to allocate shows in *out. */
void csv_cell_append(struct buffer *out, struct buffer *scratch, struct span text,
		     const char *separator);
