/*
 * rows - a profile as long rows: one fact a row, with every part of its key in a
 * column of its own, for column stores. A row is a cell of the relation flat
 * (an address) or stack; the two are views of the same samples and are never
 * added to each other. Rows come in the profile's order.
 *
 * Besides names, rows carry the stable 128-bit names of their image, context and
 * stack (profile_stable_names()), which mean the same in every file and on
 * every host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "export/exporter.h"

struct sink;

enum row_column {
	ROW_RELATION,
	ROW_EVENT,
	ROW_UNIT,
	ROW_HOST, /* of a profile of one host */
	ROW_COMM,
	ROW_CGROUP,
	ROW_CONTAINER,
	ROW_PID,
	ROW_START_NS,
	ROW_TID,
	ROW_THREAD,
	ROW_CPU,
	ROW_CORE_TYPE,
	ROW_LABELS,
	ROW_IMAGE,
	ROW_IMAGE_KIND,
	ROW_BUILD_ID,
	ROW_PROCEDURE,
	ROW_VADDR,
	ROW_OFFSET, /* of the address in its procedure */
	ROW_FILE,
	ROW_LINE,
	ROW_STACK, /* as folded text, without the command */
	ROW_SAMPLES,
	ROW_ESTIMATE,
	ROW_STANDARD_ERROR,
	ROW_IMAGE_ID,
	ROW_CONTEXT_ID,
	ROW_STACK_ID,
	ROW_WRITABLE_BY, /* who else than root and the recorder can write the image's file */
	ROW_COLUMNS,
};
extern const char *const row_column_names[ROW_COLUMNS];

enum row_kind {
	ROW_ABSENT,
	ROW_TEXT,
	ROW_NUMBER, /* `text` is a decimal number */
};

struct row_value {
	enum row_kind kind;
	struct span text;
};

/* Called with one row; `values` has ROW_COLUMNS entries, valid until it returns. Returns 0 or a
 * negative errno. */
typedef int (*rows_visit)(void *context, const struct row_value *values);

/* Calls `visit` with all rows of the chosen events and fills their sums, of which `missing` is
 * empty: flat has every sample. Returns 0, what `visit` failed with, or -ENOMEM. */
int rows_each(const struct export_input *input, rows_visit visit, void *context,
	      struct export_sums *sums);
