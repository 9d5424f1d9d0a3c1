/*
 * epoch_private - what the parts of epoch.h share: an epoch's life (epoch.c), and what its open
 * file holds (epoch_store.c).
 */
#pragma once

#include "base/buffer.h"
#include "store/epoch.h"
#include "store/open_folder.h"
#include "store/profile_writer.h"

/* What the open epoch's file holds of one table. */
struct stored {
	size_t rows;
	size_t columns;
	uint64_t whole_bytes, added_bytes; /* of chunks: when it was last written anew; since */
	uint32_t *changed; /* rows below `rows` with new values, in any order, perhaps twice */
	size_t changed_count, changed_capacity;
};

struct epoch {
	char *path;
	struct epoch_options options;
	struct open_folder folder; /* the lock on its profile shows that the writer lives */
	sqlite3 *db;
	struct profile_writer writer;
	struct profile *profile;
	struct stored *stored; /* for each table of the profile that the file has */
	size_t stored_count;
	size_t stored_entries; /* of the byte pool */
	struct buffer labels;  /* that every source gets, as epoch_label() was told */
	void *own_context;     /* the copy of options.context, or NULL */
	int broken;	       /* negative errno value: memory ran out inside a merge */
};

/* "cannot write 'PATH': ..." by a negative errno value, and by what SQLite says. Both return it. */
int epoch_failed(struct error *err, int code, const char *path);
int epoch_sqlite_failed(const struct epoch *epoch, int code, struct error *err);

/*
 * Brings the file up to date in one transaction. When that fails, the file and what `epoch`
 * says of it stay as they were, and the changes are written by the next call.
 */
int epoch_store(struct epoch *epoch, struct error *err);
/* Remembers that a row of the profile got new values: a profile_note_row, with the epoch as its
 * context. */
int epoch_note_row(void *context, size_t table, uint32_t row);
