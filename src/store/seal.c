#include "store/seal.h"

#include "base/hash.h"

enum { SPELL_INTEGER = 1, SPELL_TEXT = 3, SPELL_BLOB = 4, SPELL_NULL = 5 };

void seal_row_release(struct seal_row *row)
{
	buffer_release(&row->bytes);
}

void seal_row_begin(struct seal_row *row, const char *table, int64_t rowid)
{
	buffer_empty(&row->bytes);
	buffer_append(&row->bytes, table, strlen(table) + 1);
	buffer_append_u64(&row->bytes, (uint64_t)rowid);
}

void seal_row_integer(struct seal_row *row, int64_t value)
{
	buffer_append_u8(&row->bytes, SPELL_INTEGER);
	buffer_append_u64(&row->bytes, (uint64_t)value);
}

static void append_sized(struct seal_row *row, uint8_t kind, struct span bytes)
{
	buffer_append_u8(&row->bytes, kind);
	buffer_append_u64(&row->bytes, bytes.size);
	buffer_append(&row->bytes, bytes.data, bytes.size);
}

void seal_row_text(struct seal_row *row, struct span text)
{
	append_sized(row, SPELL_TEXT, text);
}

void seal_row_blob(struct seal_row *row, struct span blob)
{
	append_sized(row, SPELL_BLOB, blob);
}

void seal_row_null(struct seal_row *row)
{
	buffer_append_u8(&row->bytes, SPELL_NULL);
}

void seal_add(struct seal *seal, const struct seal_row *row)
{
	struct hash128 hash = hash128_bytes(row->bytes.data, row->bytes.size);
	seal->sum += ((unsigned __int128)hash.high << 64) | hash.low;
}

void seal_bytes(const struct seal *seal, uint8_t out[SEAL_SIZE])
{
	for (int i = 0; i < SEAL_SIZE; i++)
		out[i] = (uint8_t)(seal->sum >> (8 * i));
}
