/* The byte pool of a file: which of our numbers each of its entries gets. */
#include "store/profile_reader_private.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"

static int add_entries(struct load *load, const struct chunk *chunk, struct buffer *begun,
		       int64_t rowid)
{
	const uint8_t *bytes = chunk->bytes.data;
	size_t left = chunk->bytes.size;
	for (size_t i = 0; i < chunk->count; i++) {
		uint64_t id = chunk->numbers[2 * i];
		uint64_t size = chunk->numbers[2 * i + 1];
		size_t before = i == 0 ? begun->size : 0;
		if (size < before || size - before > left)
			return load_fault(load,
					  "chunk %lld (bytes): its entries do not fit its bytes",
					  (long long)rowid);
		int ret = load_spend_memory(load, 1, size);
		if (ret < 0)
			return ret;
		struct span entry = { bytes, size };
		if (before) {
			buffer_append(begun, bytes, size - before);
			if (buffer_failed(begun))
				return load_out_of_memory(load);
			entry.data = begun->data;
		}
		bytes += size - before;
		left -= size - before;
		if (id == 0 || id > load->pool_size || load->pool[id])
			return load_fault(load, "chunk %lld (bytes): an entry's number is wrong",
					  (long long)rowid);
		size_t known = load->profile->bytes.count;
		if (profile_add_bytes(load->profile, entry, &load->pool[id]) < 0)
			return load_out_of_memory(load);
		if (load->profile->bytes.count == known) {
			/* Else two rows that differ in the file could be one here. */
			load->pool[id] = 0;
			return load_fault(load, "chunk %lld (bytes): an entry is there twice",
					  (long long)rowid);
		}
	}
	buffer_empty(begun);
	return left ? load_fault(load, "chunk %lld (bytes): it has bytes left over",
				 (long long)rowid)
		    : 0;
}

/* The file's numbers are dense: no more than all chunks together can hold. */
static int size_pool(struct load *load)
{
	size_t chunks = 0;
	for (size_t i = 0; i < load->chunk_count; i++)
		chunks += load->chunks[i].relation == 0;
	CLEANUP(load_finalize) sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(load->db, "SELECT sum(rows) FROM chunk WHERE relation=0", -1,
				      &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	uint64_t declared = UINT64_MAX;
	if (code == SQLITE_ROW)
		declared = (uint64_t)sqlite3_column_int64(statement, 0);
	int ret = code == SQLITE_ROW ? 0 : load_sqlite_fault(load, code, "chunk");
	if (ret < 0)
		return ret;
	if (declared > (uint64_t)chunks * CHUNK_MAX_ROWS)
		declared = (uint64_t)chunks * CHUNK_MAX_ROWS;
	ret = load_spend_memory(load, declared, 0);
	if (ret < 0)
		return ret;
	load->pool_size = declared;
	load->pool = calloc(declared + 1, sizeof(*load->pool));
	return load->pool ? 0 : load_out_of_memory(load);
}

int load_pool(struct load *load)
{
	int ret = size_pool(load);
	CLEANUP(load_walk_release) struct chunk_walk walk = { .name = "bytes" };
	CLEANUP(buffer_release) struct buffer begun = { 0 };
	if (ret == 0)
		ret = load_walk_begin(load, &walk);
	if (ret < 0)
		return ret;
	while ((ret = load_walk_next(load, &walk)) > 0) {
		if (walk.chunk.kind == CHUNK_PIECE) {
			ret = load_spend_memory(load, 1, walk.chunk.bytes.size);
			buffer_append(&begun, walk.chunk.bytes.data, walk.chunk.bytes.size);
			if (ret == 0 && buffer_failed(&begun))
				ret = load_out_of_memory(load);
		} else {
			ret = add_entries(load, &walk.chunk, &begun, walk.rowid);
		}
		if (ret < 0)
			return ret;
	}
	if (ret == 0 && begun.size)
		ret = load_fault(load, "the byte pool ends inside an entry");
	return ret;
}
