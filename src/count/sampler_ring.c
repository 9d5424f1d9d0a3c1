#include "count/sampler_ring.h"

#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>

#include "base/span.h"
#include "machine/perf_ring.h"

#define HEADER_BYTES sizeof(struct perf_event_header)

/* `size` bytes from `at` on in one piece; in `room` when the ring's end lies between them. */
static const uint8_t *in_one_piece(const struct span parts[2], size_t at, size_t size,
				   uint8_t *room)
{
	const uint8_t *first = parts[0].data, *second = parts[1].data;
	if (at >= parts[0].size)
		return second + (at - parts[0].size);
	if (parts[0].size - at >= size)
		return first + at;
	perf_ring_copy(parts, at, room, size);
	return room;
}

int sampler_ring_take(const struct perf_ring *ring, uint8_t *room, sampler_handle handle,
		      void *context)
{
	struct span parts[2];
	int ret = perf_ring_written(ring, parts);
	if (ret < 0)
		return ret;
	size_t written = parts[0].size + parts[1].size;
	size_t at = 0;
	while (written - at >= HEADER_BYTES) {
		struct perf_event_header header;
		memcpy(&header, in_one_piece(parts, at, HEADER_BYTES, room), sizeof(header));
		if (header.size < HEADER_BYTES) {
			ret = -EBADMSG;
			at = written;
			break;
		}
		if (header.size > written - at)
			break;
		handle(context, in_one_piece(parts, at, header.size, room), header.size);
		at += header.size;
	}
	perf_ring_take(ring, at);
	return ret;
}
