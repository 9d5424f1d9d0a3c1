#include "store/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cursor.h"
#include "store/column_codec.h"

/* Columns shorter than this share a zstd block with the next one: each block brings its own tables.
 */
#define CHUNK_PART_BYTES 512

const char chunk_out_of_memory[] = "out of memory";

void chunk_coder_init(struct chunk_coder *coder)
{
	*coder = (struct chunk_coder){ .compress = true, .level = CHUNK_LEVEL_CLOSED };
}

void chunk_coder_release(struct chunk_coder *coder)
{
	ZSTD_freeCCtx(coder->compressor);
	ZSTD_freeDCtx(coder->decompressor);
	buffer_release(&coder->raw);
	buffer_release(&coder->stored);
	free(coder->numbers);
	*coder = (struct chunk_coder){ 0 };
}

/* The slots of a row in a chunk: [position] keys, values. */
struct slot {
	bool wide;
	size_t factor;	    /* or COLUMN_NO_SLOT; the numerator of a wide one */
	size_t denominator; /* of a wide one */
};

struct shape {
	struct slot slots[TABLE_MAX_COLUMNS * 2 + 1];
	size_t count; /* wide ones count twice; their second entry is not used */
};

static void shape_add(struct shape *shape, enum column_type type, size_t factor, size_t denominator)
{
	bool wide = type == COLUMN_U128;
	shape->slots[shape->count] = (struct slot){ wide, factor, denominator };
	shape->count += wide ? 2 : 1;
}

static void shape_of(struct shape *shape, const struct column *columns, size_t count,
		     enum chunk_kind kind)
{
	shape->count = 0;
	if (kind == CHUNK_UPDATES)
		shape_add(shape, COLUMN_U64, COLUMN_NO_SLOT, COLUMN_NO_SLOT);
	for (size_t i = 0; i < count && kind == CHUNK_ROWS; i++)
		if (columns[i].rule == RULE_KEY)
			shape_add(shape, columns[i].type, COLUMN_NO_SLOT, COLUMN_NO_SLOT);
	/* Cells are (samples, estimate, squares): the estimate is near a multiple of the samples,
	 * the squares near estimate^2 / samples. */
	size_t last = COLUMN_NO_SLOT;
	size_t before = COLUMN_NO_SLOT;
	for (size_t i = 0; i < count; i++) {
		if (columns[i].rule == RULE_KEY)
			continue;
		size_t slot = shape->count;
		shape_add(shape, columns[i].type, last, before);
		if (columns[i].type == COLUMN_U128)
			continue;
		before = last;
		last = slot;
	}
}

static int reserve_numbers(struct chunk_coder *coder, size_t count)
{
	if (count <= coder->number_capacity)
		return 0;
	uint64_t *grown = reallocarray(coder->numbers, count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	coder->numbers = grown;
	coder->number_capacity = count;
	return 0;
}

/* Ends a part of coder->raw: its bytes are distributed otherwise than the next ones, so zstd gets
 * them in a block of their own. */
static void end_part(struct chunk_coder *coder)
{
	size_t size = coder->raw.size - coder->part_end;
	if (size < CHUNK_PART_BYTES || coder->part_count + 1 == CHUNK_MAX_PARTS)
		return;
	coder->parts[coder->part_count++] = size;
	coder->part_end = coder->raw.size;
}

/*
 * Makes one frame whose blocks end where parts do, so that each has its own entropy
 * tables. False when there is not enough room (it does not get smaller) or zstd fails;
 * the chunk is stored then.
 */
static bool compress(struct chunk_coder *coder, uint8_t *room, size_t capacity, size_t *size)
{
	ZSTD_CCtx *zstd = coder->compressor;
	ZSTD_CCtx_reset(zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, coder->level);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(zstd, coder->raw.size);
	ZSTD_inBuffer in = { coder->raw.data, 0, 0 };
	ZSTD_outBuffer out = { room, capacity, 0 };
	for (size_t i = 0; i <= coder->part_count; i++) {
		bool last = i == coder->part_count;
		in.size = last ? coder->raw.size : in.size + coder->parts[i];
		size_t left =
			ZSTD_compressStream2(zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
		if (left != 0)
			return false; /* an error, or no room */
	}
	*size = out.pos;
	return true;
}

/* Lowers the level after CHUNK_THOROUGH_BYTES. It depends on the chunks before alone, so equal
 * contents are equal files. The compressor is made anew, for that of a higher level takes several
 * times as much memory. */
static void choose_level(struct chunk_coder *coder)
{
	coder->packed_bytes += coder->raw.size;
	if (coder->level <= CHUNK_LEVEL_OPEN || coder->packed_bytes <= CHUNK_THOROUGH_BYTES)
		return;
	coder->level = CHUNK_LEVEL_OPEN;
	ZSTD_freeCCtx(coder->compressor);
	coder->compressor = NULL;
}

/* Compresses coder->raw into coder->stored. */
static int pack(struct chunk_coder *coder)
{
	if (buffer_failed(&coder->raw))
		return -ENOMEM;
	struct buffer *out = &coder->stored;
	buffer_empty(out);
	if (coder->compress) {
		choose_level(coder);
		if (!coder->compressor) {
			coder->compressor = ZSTD_createCCtx();
			if (!coder->compressor)
				return -ENOMEM;
		}
		uint8_t *room = buffer_extend(out, coder->raw.size + 1);
		if (!room)
			return -ENOMEM;
		size_t size;
		if (compress(coder, room + 1, coder->raw.size, &size) && size < coder->raw.size) {
			room[0] = CHUNK_ZSTD;
			out->size = size + 1;
			return 0;
		}
	}
	buffer_empty(out);
	buffer_append_u8(out, CHUNK_STORED);
	buffer_append(out, coder->raw.data, coder->raw.size);
	return buffer_failed(out) ? -ENOMEM : 0;
}

static void begin(struct chunk_coder *coder, enum chunk_kind kind, size_t count)
{
	buffer_empty(&coder->raw);
	coder->raw.failed = false;
	coder->part_end = coder->part_count = 0;
	coder->stored.failed = false;
	buffer_append_u8(&coder->raw, (uint8_t)kind);
	buffer_append_varint(&coder->raw, count);
}

static void encode_columns(struct chunk_coder *coder, const struct shape *shape, size_t count)
{
	struct column_rows rows = { coder->numbers, shape->count, count };
	for (size_t i = 0; i < shape->count; i++) {
		const struct slot *slot = &shape->slots[i];
		if (slot->wide)
			column_encode_wide(&rows, i++, slot->factor, slot->denominator,
					   &coder->raw);
		else
			column_encode(&rows, i, slot->factor, &coder->raw);
		end_part(coder);
	}
}

size_t chunk_max_rows(const struct table *table)
{
	size_t slots = table->key_slots + table->value_slots + 1;
	size_t rows = (CHUNK_MAX_RAW_BYTES - 1024) / (slots * VARINT_MAX_BYTES);
	return rows < CHUNK_MAX_ROWS ? rows : CHUNK_MAX_ROWS;
}

static void copy_keys(const struct table *table, size_t row, const uint32_t *pool_ids,
		      uint64_t *out)
{
	const uint64_t *keys = table_keys(table, row);
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].rule != RULE_KEY)
			continue;
		uint64_t key = *keys++;
		*out++ = pool_ids && table->columns[i].type == COLUMN_BYTES ? pool_ids[key] : key;
	}
}

int chunk_encode_rows(struct chunk_coder *coder, const struct table *table, size_t first,
		      size_t count, const uint32_t *pool_ids)
{
	struct shape shape;
	shape_of(&shape, table->columns, table->column_count, CHUNK_ROWS);
	if (reserve_numbers(coder, count * shape.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t *out = coder->numbers + i * shape.count;
		copy_keys(table, first + i, pool_ids, out);
		if (table->value_slots)
			memcpy(out + table->key_slots, table_values(table, first + i),
			       table->value_slots * sizeof(*out));
	}
	begin(coder, CHUNK_ROWS, count);
	encode_columns(coder, &shape, count);
	return pack(coder);
}

int chunk_encode_updates(struct chunk_coder *coder, const struct table *table, const uint32_t *rows,
			 size_t count)
{
	struct shape shape;
	shape_of(&shape, table->columns, table->column_count, CHUNK_UPDATES);
	if (reserve_numbers(coder, count * shape.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t *out = coder->numbers + i * shape.count;
		*out = rows[i];
		if (table->value_slots)
			memcpy(out + 1, table_values(table, rows[i]),
			       table->value_slots * sizeof(*out));
	}
	begin(coder, CHUNK_UPDATES, count);
	encode_columns(coder, &shape, count);
	return pack(coder);
}

int chunk_encode_bytes(struct chunk_coder *coder, const struct byte_pool *pool, const uint32_t *ids,
		       const uint32_t *file_ids, size_t count, size_t skip_first)
{
	if (reserve_numbers(coder, count * 2) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		coder->numbers[2 * i] = file_ids[i];
		coder->numbers[2 * i + 1] = byte_pool_get(pool, ids[i]).size;
	}
	begin(coder, CHUNK_BYTES, count);
	struct column_rows rows = { coder->numbers, 2, count };
	column_encode(&rows, 0, COLUMN_NO_SLOT, &coder->raw);
	column_encode(&rows, 1, COLUMN_NO_SLOT, &coder->raw);
	end_part(coder);
	for (size_t i = 0; i < count; i++) {
		struct span bytes = byte_pool_get(pool, ids[i]);
		size_t skip = i == 0 ? skip_first : 0;
		buffer_append(&coder->raw, (const char *)bytes.data + skip, bytes.size - skip);
	}
	return pack(coder);
}

int chunk_encode_piece(struct chunk_coder *coder, struct span piece)
{
	begin(coder, CHUNK_PIECE, 1);
	buffer_append(&coder->raw, piece.data, piece.size);
	return pack(coder);
}

static const char *unpack(struct chunk_coder *coder, struct span stored, struct cursor *raw)
{
	const uint8_t *data = stored.data;
	if (stored.size == 0)
		return "it is empty";
	if (data[0] == CHUNK_STORED) {
		if (stored.size - 1 > CHUNK_MAX_RAW_BYTES)
			return "it is larger than a chunk can be";
		*raw = cursor_of(data + 1, stored.size - 1);
		return NULL;
	}
	if (data[0] != CHUNK_ZSTD)
		return "its compression is unknown";
	unsigned long long size = ZSTD_getFrameContentSize(data + 1, stored.size - 1);
	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return "its compressed data has no proper beginning";
	if (size > CHUNK_MAX_RAW_BYTES)
		return "it claims to be larger than a chunk can be";
	if (!coder->decompressor)
		coder->decompressor = ZSTD_createDCtx();
	buffer_empty(&coder->raw);
	coder->raw.failed = false;
	uint8_t *room = buffer_extend(&coder->raw, size + 1);
	if (!coder->decompressor || !room)
		return chunk_out_of_memory;
	size_t got =
		ZSTD_decompressDCtx(coder->decompressor, room, size, data + 1, stored.size - 1);
	if (ZSTD_isError(got))
		return "its compressed data is damaged";
	if (got != size)
		return "its compressed data ends early";
	*raw = cursor_of(room, size);
	return NULL;
}

static const char *decode_columns(struct chunk_coder *coder, struct cursor *raw,
				  const struct shape *shape, struct chunk *chunk)
{
	if (reserve_numbers(coder, chunk->count * shape->count + 1) < 0)
		return chunk_out_of_memory;
	struct column_rows rows = { coder->numbers, shape->count, chunk->count };
	for (size_t i = 0; i < shape->count; i++) {
		const char *fault = shape->slots[i].wide ? column_decode_wide(raw, &rows, i)
							 : column_decode(raw, &rows, i);
		if (fault)
			return fault;
		i += shape->slots[i].wide;
	}
	chunk->numbers = coder->numbers;
	chunk->stride = shape->count;
	return NULL;
}

/* The entries' sizes must add up to the bytes; the first may be longer, by pieces that came before.
 */
static const char *check_entries(struct cursor *raw, struct chunk *chunk)
{
	chunk->bytes = (struct span){ raw->start + raw->at, raw->size - raw->at };
	size_t left = chunk->bytes.size;
	for (size_t i = 1; i < chunk->count; i++) {
		uint64_t size = chunk->numbers[2 * i + 1];
		if (size > left)
			return "its entries are longer than its bytes";
		left -= size;
	}
	return left > chunk->numbers[1] ? "its entries are shorter than its bytes" : NULL;
}

const char *chunk_decode(struct chunk_coder *coder, struct span stored,
			 const struct column *columns, size_t column_count, struct chunk *chunk)
{
	struct cursor raw;
	const char *fault = unpack(coder, stored, &raw);
	if (fault)
		return fault;
	uint8_t kind = cursor_u8(&raw);
	uint64_t count = cursor_varint(&raw);
	if (raw.failed)
		return "it ends early";
	if (count == 0 || count > CHUNK_MAX_ROWS)
		return "it has no plausible number of rows";
	*chunk = (struct chunk){ .kind = (enum chunk_kind)kind, .count = count };
	struct shape shape = { .count = 0 };
	if (kind == CHUNK_PIECE && column_count == 0) {
		chunk->bytes = (struct span){ raw.start + raw.at, raw.size - raw.at };
		return NULL;
	}
	if (kind == CHUNK_BYTES && column_count == 0) {
		shape_add(&shape, COLUMN_U64, COLUMN_NO_SLOT, COLUMN_NO_SLOT);
		shape_add(&shape, COLUMN_U64, COLUMN_NO_SLOT, COLUMN_NO_SLOT);
		fault = decode_columns(coder, &raw, &shape, chunk);
		return fault ? fault : check_entries(&raw, chunk);
	}
	if ((kind != CHUNK_ROWS && kind != CHUNK_UPDATES) || column_count == 0)
		return "its kind does not belong here";
	shape_of(&shape, columns, column_count, chunk->kind);
	fault = decode_columns(coder, &raw, &shape, chunk);
	if (!fault && cursor_left(&raw))
		fault = "it has bytes after its last column";
	return fault;
}
