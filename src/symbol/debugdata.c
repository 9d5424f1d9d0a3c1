#include "symbol/debugdata.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>

#include "base/buffer.h"

#define DECODER_MEMORY_BYTES (128u << 20) /* xz -9 needs 65 MiB */

int debugdata_unpack(struct span packed, struct buffer *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret state = lzma_stream_decoder(&stream, DECODER_MEMORY_BYTES, 0);
	if (state != LZMA_OK)
		return -ENOMEM;
	uint8_t piece[65536];
	size_t start = out->size;
	stream.next_in = packed.data;
	stream.avail_in = packed.size;
	while (state == LZMA_OK) {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		state = lzma_code(&stream, LZMA_FINISH);
		buffer_append(out, piece, sizeof(piece) - stream.avail_out);
		if (out->size - start > DEBUGDATA_MAX_BYTES || buffer_failed(out))
			break;
	}
	lzma_end(&stream);
	if (buffer_failed(out) || state == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (out->size - start > DEBUGDATA_MAX_BYTES || state == LZMA_MEMLIMIT_ERROR)
		return -EFBIG;
	return state == LZMA_STREAM_END ? 0 : -EBADMSG;
}
