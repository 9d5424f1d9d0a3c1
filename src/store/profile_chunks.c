/* Where the chunks of a file are, and each relation's one after another, decoded. */
#include "store/profile_reader_private.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/column_span.h"
#include "store/profile_writer.h"
#include "store/sqlite_guard.h"

int load_chunk_places(struct load *load)
{
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code =
		sqlite3_prepare_v2(load->db, "SELECT rowid,relation,event,length(data) FROM chunk",
				   -1, &statement, NULL);
	int64_t previous = 0;
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		if (array_reserve(&load->chunks, &load->chunk_capacity, load->chunk_count,
				  sizeof(*load->chunks)) < 0)
			return load_out_of_memory(load);
		struct chunk_place place = { sqlite3_column_int64(statement, 0),
					     sqlite3_column_int64(statement, 1),
					     sqlite3_column_int64(statement, 2),
					     (uint64_t)sqlite3_column_int64(statement, 3) };
		if (place.rowid <= previous)
			return load_fault(load, "the chunks are out of order");
		previous = place.rowid;
		load->chunks[load->chunk_count++] = place;
	}
	return code == SQLITE_DONE ? 0 : load_sqlite_fault(load, code, "chunk");
}

int load_spend_memory(struct load *load, uint64_t count, uint64_t each)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, each + PROFILE_UNPACK_ROW_BYTES, &size) ||
	    size > load->unpack_left)
		return error_set(load->err, -EBADMSG,
				 "profile '%s' unpacks to more than any profile of its size does",
				 load->options->name);
	load->unpack_left -= size;
	return 0;
}

/* Whether a chunk holds nothing but contents that the reader was asked to leave out. */
static bool is_left_out(const struct load *load, const struct chunk_place *place)
{
	return load->options->without_code && place->relation == 0 &&
	       (place->event == POOL_GROUP_CODE || place->event == POOL_GROUP_OTHER);
}

void load_walk_release(struct chunk_walk *walk)
{
	sqlite3_finalize(walk->statement);
}

int load_walk_begin(struct load *load, struct chunk_walk *walk)
{
	int code = sqlite3_prepare_v2(load->db, "SELECT data FROM chunk WHERE rowid=?", -1,
				      &walk->statement, NULL);
	return code == SQLITE_OK ? 0 : load_sqlite_fault(load, code, "chunk");
}

/* 1; 0 when the chunk is damaged, which is reported; or a negative errno value. */
static int decode_place(struct load *load, struct chunk_walk *walk, const struct chunk_place *place)
{
	walk->rowid = place->rowid;
	sqlite3_reset(walk->statement);
	sqlite3_bind_int64(walk->statement, 1, place->rowid);
	int code = sqlite3_step(walk->statement);
	load->counts->chunks++;
	if (code != SQLITE_ROW) {
		load->counts->chunks_damaged++;
		return load_sqlite_fault(load, code == SQLITE_DONE ? SQLITE_CORRUPT : code,
					 walk->name);
	}
	struct span stored = column_span(walk->statement, 0);
	const char *what = sqlite3_column_type(walk->statement, 0) == SQLITE_BLOB
				   ? chunk_decode(&load->coder, stored, walk->columns,
						  walk->column_count, &walk->chunk)
				   : "it is no blob";
	if (walk->relation ? strcmp(walk->name, "stash") == 0 : place->event > 0)
		load->counts->stash_bytes += stored.size;
	if (!what)
		return 1;
	if (what == chunk_out_of_memory)
		return load_out_of_memory(load);
	load->counts->chunks_damaged++;
	return load_fault(load, "chunk %lld (%s): %s", (long long)walk->rowid, walk->name, what);
}

int load_walk_next(struct load *load, struct chunk_walk *walk)
{
	while (walk->at < load->chunk_count) {
		const struct chunk_place *place = &load->chunks[walk->at++];
		if (place->relation != walk->relation)
			continue;
		if (is_left_out(load, place)) {
			load->entries_left_out = true;
			load->counts->stash_bytes += place->size;
			continue;
		}
		int ret = decode_place(load, walk, place);
		if (ret)
			return ret;
	}
	return 0;
}
