#include "import/reading/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/budget.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/reading/utf16.h"

#define PIECE_BYTES	 (128u << 10)
#define XZ_MEMORY_LIMIT	 (96u << 20) /* xz -9 needs 65 MiB */
#define GZIP_WINDOW_BITS (15 + 16)   /* zlib.h: +16 reads the gzip wrapper */

struct unpacker {
	enum packing packing;
	unpack_sink sink;
	void *context;
	z_stream gzip;
	lzma_stream xz;
	struct utf16 text;
	bool ended; /* between members of gzip */
	uint64_t taken;
	uint8_t piece[PIECE_BYTES];
};

enum packing packing_of(const void *bytes, size_t size)
{
	static const uint8_t gzip[] = { 0x1f, 0x8b, 8 };
	static const uint8_t xz[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };
	if (size >= sizeof(gzip) && memcmp(bytes, gzip, sizeof(gzip)) == 0)
		return PACKING_GZIP;
	if (size >= sizeof(xz) && memcmp(bytes, xz, sizeof(xz)) == 0)
		return PACKING_XZ;
	switch (utf16_order_of(bytes, size)) {
	case UTF16_LITTLE:
		return PACKING_UTF16_LITTLE;
	case UTF16_BIG:
		return PACKING_UTF16_BIG;
	case UTF16_NONE:
		break;
	}
	return PACKING_NONE;
}

static bool begin(struct unpacker *unpacker)
{
	switch (unpacker->packing) {
	case PACKING_GZIP:
		return inflateInit2(&unpacker->gzip, GZIP_WINDOW_BITS) == Z_OK;
	case PACKING_XZ:
		budget_window(XZ_MEMORY_LIMIT);
		return lzma_stream_decoder(&unpacker->xz, XZ_MEMORY_LIMIT, LZMA_CONCATENATED) ==
		       LZMA_OK;
	case PACKING_UTF16_LITTLE:
		unpacker->text.order = UTF16_LITTLE;
		return true;
	case PACKING_UTF16_BIG:
		unpacker->text.order = UTF16_BIG;
		return true;
	case PACKING_NONE:
		break;
	}
	return false;
}

int unpacker_new(enum packing packing, unpack_sink sink, void *context, struct unpacker **out)
{
	struct unpacker *unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return -ENOMEM;
	unpacker->packing = packing;
	unpacker->sink = sink;
	unpacker->context = context;
	if (!begin(unpacker)) {
		free(unpacker);
		return -ENOMEM;
	}
	*out = unpacker;
	return 0;
}

void unpacker_free(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	if (unpacker->packing == PACKING_GZIP)
		inflateEnd(&unpacker->gzip);
	else if (unpacker->packing == PACKING_XZ)
		lzma_end(&unpacker->xz);
	free(unpacker);
}

void unpacker_freep(struct unpacker **unpacker)
{
	unpacker_free(*unpacker);
}

static int damaged(const struct unpacker *unpacker, uint64_t at, const char *why, struct error *err)
{
	return error_set(err, -EBADMSG, "damaged %s data at byte %" PRIu64 "%s%s",
			 unpacker->packing == PACKING_GZIP ? "gzip" : "xz", at, why ? ": " : "",
			 why ? why : "");
}

static int feed_gzip(struct unpacker *unpacker, const void *bytes, size_t size, struct error *err)
{
	z_stream *stream = &unpacker->gzip;
	stream->next_in = (z_const Bytef *)bytes;
	stream->avail_in = (uInt)size;
	while (true) {
		if (unpacker->ended) {
			if (!stream->avail_in)
				return 0;
			inflateReset(stream); /* one more member */
			unpacker->ended = false;
		}
		stream->next_out = unpacker->piece;
		stream->avail_out = PIECE_BYTES;
		int state = inflate(stream, Z_NO_FLUSH);
		if (state == Z_MEM_ERROR)
			return error_set(err, -ENOMEM, "out of memory unpacking gzip data");
		if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
			return damaged(unpacker, unpacker->taken + size - stream->avail_in,
				       stream->msg, err);
		size_t made = PIECE_BYTES - stream->avail_out;
		budget_unpacked(made);
		int ret = made ? unpacker->sink(unpacker->context, unpacker->piece, made, err) : 0;
		if (ret < 0)
			return ret;
		unpacker->ended = state == Z_STREAM_END;
		if (!unpacker->ended && made < PIECE_BYTES && !stream->avail_in)
			return 0;
	}
}

static int run_xz(struct unpacker *unpacker, const void *bytes, size_t size, lzma_action action,
		  struct error *err)
{
	lzma_stream *stream = &unpacker->xz;
	stream->next_in = bytes;
	stream->avail_in = size;
	while (true) {
		stream->next_out = unpacker->piece;
		stream->avail_out = PIECE_BYTES;
		lzma_ret state = lzma_code(stream, action);
		if (state == LZMA_MEM_ERROR)
			return error_set(err, -ENOMEM, "out of memory unpacking xz data");
		if (state == LZMA_MEMLIMIT_ERROR)
			return error_set(err, -EPROTO,
					 "the xz data needs more than %u MiB to unpack",
					 XZ_MEMORY_LIMIT >> 20);
		if (state != LZMA_OK && state != LZMA_STREAM_END && state != LZMA_BUF_ERROR)
			return damaged(unpacker, unpacker->taken + size - stream->avail_in, NULL,
				       err);
		size_t made = PIECE_BYTES - stream->avail_out;
		budget_unpacked(made);
		int ret = made ? unpacker->sink(unpacker->context, unpacker->piece, made, err) : 0;
		if (ret < 0)
			return ret;
		if (state == LZMA_STREAM_END) {
			unpacker->ended = true;
			return 0;
		}
		if (made < PIECE_BYTES && !stream->avail_in)
			return 0;
	}
}

static int feed_utf16(struct unpacker *unpacker, const uint8_t *bytes, size_t size,
		      struct error *err)
{
	while (size) {
		size_t part = size < PIECE_BYTES / 2 ? size : PIECE_BYTES / 2;
		_Static_assert(UTF16_ROOM(PIECE_BYTES / 2) <= PIECE_BYTES, "no room");
		size_t made = utf16_convert(&unpacker->text, bytes, part, unpacker->piece);
		budget_unpacked(made);
		int ret = made ? unpacker->sink(unpacker->context, unpacker->piece, made, err) : 0;
		if (ret < 0)
			return ret;
		bytes += part;
		size -= part;
	}
	unpacker->ended = utf16_ended(&unpacker->text);
	return 0;
}

int unpacker_feed(struct unpacker *unpacker, const void *bytes, size_t size, struct error *err)
{
	int ret = unpacker->packing == PACKING_GZIP ? feed_gzip(unpacker, bytes, size, err)
		  : unpacker->packing == PACKING_XZ ? run_xz(unpacker, bytes, size, LZMA_RUN, err)
						    : feed_utf16(unpacker, bytes, size, err);
	unpacker->taken += size;
	return ret;
}

static const char *name_of(enum packing packing)
{
	return packing == PACKING_GZIP ? "gzip data"
	       : packing == PACKING_XZ ? "xz data"
				       : "UTF-16 text";
}

int unpacker_finish(struct unpacker *unpacker, struct error *err)
{
	if (unpacker->packing == PACKING_XZ) {
		int ret = run_xz(unpacker, NULL, 0, LZMA_FINISH, err);
		if (ret < 0)
			return ret;
	}
	return unpacker->ended ? 0
			       : error_set(err, -EBADMSG, "the %s is cut off at byte %" PRIu64,
					   name_of(unpacker->packing), unpacker->taken);
}
