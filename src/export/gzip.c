#include "export/gzip.h"

#include <errno.h>

#include "export/sink.h"

#define ENOUGH_BYTES (256u << 10)
#define PIECE_BYTES  (64u << 10)
#define GZIP_WINDOW  (15 + 16) /* the largest; 16 asks for a gzip header */
#define MEMORY_LEVEL 8	       /* zlib's own default */

int gzip_init(struct gzip *gzip, struct sink *sink)
{
	*gzip = (struct gzip){ .sink = sink };
	return deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
			    MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK
		       ? 0
		       : -ENOMEM;
}

void gzip_release(struct gzip *gzip)
{
	deflateEnd(&gzip->stream);
	buffer_release(&gzip->plain);
}

static int pack(struct gzip *gzip, int flush)
{
	z_stream *stream = &gzip->stream;
	struct buffer *out = &gzip->sink->buffer;
	int ret = buffer_failed(&gzip->plain) ? -ENOMEM : 0;
	stream->next_in = gzip->plain.data;
	/* below 4 GiB: a record is at most that, and more than ENOUGH_BYTES are never kept */
	stream->avail_in = (uInt)gzip->plain.size;
	do {
		stream->next_out = buffer_extend(out, PIECE_BYTES);
		stream->avail_out = PIECE_BYTES;
		if (!stream->next_out)
			return -ENOMEM;
		if (deflate(stream, flush) == Z_STREAM_ERROR)
			return -EINVAL;
		out->size -= stream->avail_out;
		if (ret == 0)
			ret = sink_flush_some(gzip->sink);
	} while (ret == 0 && stream->avail_out == 0);
	gzip->plain.size = 0;
	return ret;
}

int gzip_flush_some(struct gzip *gzip)
{
	if (gzip->plain.size >= UINT32_MAX)
		return -EFBIG;
	return gzip->plain.size >= ENOUGH_BYTES ? pack(gzip, Z_NO_FLUSH) : 0;
}

int gzip_finish(struct gzip *gzip)
{
	return gzip->plain.size >= UINT32_MAX ? -EFBIG : pack(gzip, Z_FINISH);
}
