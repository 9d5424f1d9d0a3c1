#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/profile.h"
#include "store/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte says which table's columns the chunk is read with; the last is the pool. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	CLEANUP(chunk_coder_release) struct chunk_coder coder;
	struct chunk chunk;
	unsigned which = data[0] % (PROFILE_KNOWN_TABLES + 1u);
	size_t count = 0;
	const struct column *columns = which < PROFILE_KNOWN_TABLES
					       ? profile_columns((enum profile_table)which, &count)
					       : NULL;
	chunk_coder_init(&coder);
	const char *what =
		chunk_decode(&coder, (struct span){ data + 1, size - 1 }, columns, count, &chunk);
	if (what || chunk.kind == CHUNK_PIECE)
		return 0;
	assert(chunk.count > 0 && chunk.count <= CHUNK_MAX_ROWS);
	uint64_t sum = 0;
	for (size_t i = 0; i < chunk.count * chunk.stride; i++)
		sum += chunk.numbers[i]; /* all of it is there to be read */
	/* Rows come back as they were. */
	if (chunk.kind != CHUNK_ROWS)
		return (int)(sum & 0);
	struct table *table = table_new("t", columns, count);
	assert(table && table->key_slots + table->value_slots == chunk.stride);
	for (size_t i = 0; i < chunk.count; i++) {
		const uint64_t *row = chunk.numbers + i * chunk.stride;
		assert(table_append(table, row, row + table->key_slots) == 0);
	}
	size_t rows = chunk.count;
	if (rows <= chunk_max_rows(table)) {
		CLEANUP(chunk_coder_release) struct chunk_coder other;
		chunk_coder_init(&other);
		assert(chunk_encode_rows(&other, table, 0, rows, NULL) == 0);
		CLEANUP(chunk_coder_release) struct chunk_coder back;
		chunk_coder_init(&back);
		struct chunk again;
		assert(!chunk_decode(&back, (struct span){ other.stored.data, other.stored.size },
				     columns, count, &again));
		assert(again.count == rows && memcmp(again.numbers, chunk.numbers,
						     rows * chunk.stride * sizeof(uint64_t)) == 0);
	}
	table_free(table);
	return 0;
}
