/*
 * chunk - many rows of one table, or many texts and blobs of the byte pool, as
 * one compressed piece of bytes (docs/profile-format.md).
 *
 * Decoding takes bytes from strangers. A chunk decodes to at most
 * CHUNK_MAX_RAW_BYTES before and CHUNK_MAX_ROWS rows after its columns are
 * read; the caller bounds the sum over a file. A coder belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "profile/byte_pool.h"
#include "profile/table.h"

#define CHUNK_MAX_RAW_BYTES (4u << 20)
#define CHUNK_MAX_ROWS	    16384u
/* Entries of the pool are put together to about this size, beyond which zstd finds few more
 * repetitions. */
#define CHUNK_POOL_BYTES (128u << 10)

/*
 * zstd's levels. CLOSED: for the first CHUNK_THOROUGH_BYTES of a closed file, which stays. OPEN:
 * for the rest of it, and for open epochs, which are written again soon. Of a recording of 403,000
 * cells and 9 MB of code, level 3 takes half of level 9's time for 0.2 % more bytes of cells and
 * 4 % of code; level 15 takes 4.6 times level 9's time for 1.6 % and 5 % less. An ordinary profile
 * is small enough for level 9 throughout; the writing of a large one, which the user waits for,
 * must not take longer than it has to.
 */
#define CHUNK_LEVEL_CLOSED   9
#define CHUNK_LEVEL_OPEN     3
#define CHUNK_THOROUGH_BYTES (4u << 20) /* before compression, per file */

enum chunk_method { CHUNK_STORED = 0, CHUNK_ZSTD = 1 };
enum chunk_kind {
	CHUNK_ROWS = 1,	   /* whole rows, in table order */
	CHUNK_UPDATES = 2, /* new values of rows that came before (open epochs only) */
	CHUNK_BYTES = 3,   /* entries of the byte pool */
	CHUNK_PIECE = 4,   /* the beginning of the first entry of the chunk that follows */
};

#define CHUNK_MAX_PARTS (2 * TABLE_MAX_COLUMNS + 2)

struct chunk_coder {
	struct ZSTD_CCtx_s *compressor;
	struct ZSTD_DCtx_s *decompressor;
	struct buffer raw;    /* scratch, before compression */
	struct buffer stored; /* the result of the last encoding */
	uint64_t *numbers;    /* scratch: rows by slots */
	size_t number_capacity;
	size_t part_end;	       /* of `raw`, where the last part ended */
	size_t parts[CHUNK_MAX_PARTS]; /* bytes of `raw` in each block of zstd but the last */
	size_t part_count;
	bool compress;	       /* false: every chunk is stored as it is */
	int level;	       /* of zstd; lowered after CHUNK_THOROUGH_BYTES */
	uint64_t packed_bytes; /* so far, before compression */
};

void chunk_coder_init(struct chunk_coder *coder);
void chunk_coder_release(struct chunk_coder *coder);

/* The most rows of a table that one chunk may have. */
size_t chunk_max_rows(const struct table *table);

/*
 * The encoders leave their result in coder->stored, until its next use, and return 0 or -ENOMEM.
 *
 * Rows: `count` from `first` on. `pool_ids`, when not NULL, gives the file's number for each
 * number in the byte pool.
 */
int chunk_encode_rows(struct chunk_coder *coder, const struct table *table, size_t first,
		      size_t count, const uint32_t *pool_ids);
/* The positions and present values of the rows rows[0..count-1]. */
int chunk_encode_updates(struct chunk_coder *coder, const struct table *table, const uint32_t *rows,
			 size_t count);
/* Pool entries `ids`, under the file's numbers `file_ids`; of the first one without its first
 * `skip_first` bytes, which pieces hold. The bytes sum up to at most CHUNK_MAX_RAW_BYTES / 2. */
int chunk_encode_bytes(struct chunk_coder *coder, const struct byte_pool *pool, const uint32_t *ids,
		       const uint32_t *file_ids, size_t count, size_t skip_first);
/* Bytes that the first entry of the next chunk of entries begins with. */
int chunk_encode_piece(struct chunk_coder *coder, struct span piece);

/* The one failure of decoding that is not the chunk's fault. */
extern const char chunk_out_of_memory[];

/* What a chunk holds; borrows from the coder until its next use. */
struct chunk {
	enum chunk_kind kind;
	size_t count;		 /* rows or entries */
	const uint64_t *numbers; /* row by row: [position of the row, when updates] keys, values;
				    entries: id, size */
	size_t stride;
	struct span bytes; /* of entries, one after another; of a piece, all */
};

/*
 * `columns` declares the rows; they are not used for the pool's chunks (count 0).
 * Returns NULL and fills *chunk, or what is wrong, or chunk_out_of_memory.
 */
const char *chunk_decode(struct chunk_coder *coder, struct span stored,
			 const struct column *columns, size_t column_count, struct chunk *chunk);
