/*
 * epoch_private - what the parts of epoch.h share: an epoch's life (epoch.c), and what its open
 * file holds (epoch_store.c).
 */
#pragma once

#include "store/epoch.h"
#include "store/open_folder.h"
#include "store/profile_writer.h"

/* What the open file holds of one table. */
struct stored {
	size_t rows;
	size_t columns;
	uint64_t whole_bytes, added_bytes; /* of chunks */
	uint32_t *changed; /* rows below `rows` with new values, in any order, perhaps twice */
	size_t changed_count, changed_capacity;
};

struct epoch {
	char *path;
	struct epoch_options options;
	struct open_folder folder; /* its profile's lock says that we live */
	sqlite3 *db;
	struct profile_writer writer;
	struct profile *profile;
	struct stored *stored; /* one a table of the profile, as far as the file knows them */
	size_t stored_count;
	size_t stored_entries; /* of the byte pool */
	void *own_context;
	int broken; /* negative errno value: memory ran out inside a merge */
};

/* "cannot write 'PATH': ..." by a negative errno value, and by what SQLite says. Both return it. */
int epoch_failed(struct error *err, int code, const char *path);
int epoch_sqlite_failed(const struct epoch *epoch, int code, struct error *err);

/*
 * Brings the file up to date in one transaction. When that fails the file is
 * what it was, our notes of it too, and what changed stays noted.
 */
int epoch_store(struct epoch *epoch, struct error *err);
/* A row of the profile got new values: for profile_merge_noting(), with the epoch. */
int epoch_note_row(void *context, size_t table, uint32_t row);
