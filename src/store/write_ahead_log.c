#include "store/write_ahead_log.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"

enum {
	HEADER_BYTES = 32,
	HEADER_PAGE_SIZE = 8,
	HEADER_SALTS = 16,
	HEADER_SUMS = 24,
	FRAME_BYTES = 24,
	FRAME_PAGES = 4, /* of the database after a transaction's last frame, else 0 */
	FRAME_SALTS = 8,
	FRAME_SUMS = 16,
	SALTS_BYTES = 8,
	MAX_PAGE_BYTES = 65536,
};
#define MAGIC_LITTLE  0x377f0682u /* sums over little-endian words; +1: big-endian ones */
#define LOG_FORMAT    3007000u
#define NO_MORE_BYTES 1

struct log {
	write_ahead_log_read read;
	void *context;
	uint8_t header[HEADER_BYTES];
	size_t page_bytes;
	bool big_endian;
	uint32_t sums[2];
	uint64_t frames;
	struct buffer pending; /* frames of a transaction whose end is not seen yet */
};

static void log_release(struct log *log)
{
	buffer_release(&log->pending);
}

static uint32_t be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_sums(struct log *log, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint32_t words[2];
		memcpy(words, bytes + i, 8);
		for (int w = 0; log->big_endian && w < 2; w++)
			words[w] = __builtin_bswap32(words[w]);
		log->sums[0] += words[0] + log->sums[1];
		log->sums[1] += words[1] + log->sums[0];
	}
}

static bool sums_are(const struct log *log, const uint8_t *at)
{
	return be32(at) == log->sums[0] && be32(at + 4) == log->sums[1];
}

/* 0, NO_MORE_BYTES when it is shorter, or a negative errno value. */
static int read_whole(const struct log *log, void *out, size_t size, uint64_t offset)
{
	long got = log->read(log->context, out, size, offset);
	return got < 0 ? (int)got : (size_t)got == size ? 0 : NO_MORE_BYTES;
}

/* 0, NO_MORE_BYTES when it is the header of no log of these pages, or a negative errno value. */
static int read_header(struct log *log)
{
	const uint8_t *header = log->header;
	int ret = read_whole(log, log->header, HEADER_BYTES, 0);
	if (ret != 0)
		return ret;
	log->big_endian = be32(header) & 1;
	log->page_bytes = be32(header + HEADER_PAGE_SIZE);
	add_sums(log, header, HEADER_SUMS);
	bool sound = (be32(header) & ~1u) == MAGIC_LITTLE && be32(header + 4) == LOG_FORMAT &&
		     log->page_bytes >= 512 && log->page_bytes <= MAX_PAGE_BYTES &&
		     (log->page_bytes & (log->page_bytes - 1)) == 0 &&
		     sums_are(log, header + HEADER_SUMS);
	return sound ? 0 : NO_MORE_BYTES;
}

/* Reads the next frame and its page to `frame`: 0; NO_MORE_BYTES where the log ends; or a negative
 * errno value. */
static int read_frame(struct log *log, uint8_t *frame)
{
	size_t size = FRAME_BYTES + log->page_bytes;
	int ret = read_whole(log, frame, size, HEADER_BYTES + log->frames * size);
	if (ret != 0)
		return ret;
	if (memcmp(frame + FRAME_SALTS, log->header + HEADER_SALTS, SALTS_BYTES) != 0 ||
	    be32(frame) == 0)
		return NO_MORE_BYTES;
	add_sums(log, frame, FRAME_SALTS);
	add_sums(log, frame + FRAME_BYTES, log->page_bytes);
	if (!sums_are(log, frame + FRAME_SUMS))
		return NO_MORE_BYTES;
	log->frames++;
	return 0;
}

/* Copies the pending frames into `pages`, which has `count` pages afterwards: -EBADMSG when that is
 * more than the `known` ones and a new one for each frame. */
static int commit(struct log *log, struct buffer *pages, uint64_t count, uint64_t known)
{
	if (count > known + log->frames)
		return -EBADMSG;
	size_t wanted = (size_t)count * log->page_bytes;
	if (wanted > pages->size) {
		size_t grown = wanted - pages->size;
		void *room = buffer_extend(pages, grown);
		if (!room)
			return -ENOMEM;
		memset(room, 0, grown);
	}
	pages->size = wanted;
	size_t step = FRAME_BYTES + log->page_bytes;
	for (size_t at = 0; at < log->pending.size; at += step) {
		const uint8_t *frame = log->pending.data + at;
		uint64_t page = be32(frame);
		if (page <= count)
			memcpy(pages->data + (page - 1) * log->page_bytes, frame + FRAME_BYTES,
			       log->page_bytes);
	}
	log->pending.size = 0;
	return 0;
}

/* 0 when the header is still the one that was read first, so that all frames are of one log;
 * -EAGAIN when another log began meanwhile; or another negative errno value. */
static int check_header_again(const struct log *log)
{
	uint8_t header[HEADER_BYTES];
	int ret = read_whole(log, header, HEADER_BYTES, 0);
	if (ret < 0)
		return ret;
	return ret == 0 && memcmp(header, log->header, HEADER_BYTES) == 0 ? 0 : -EAGAIN;
}

int write_ahead_log_apply(write_ahead_log_read read, void *context, struct buffer *pages,
			  uint64_t limit_bytes, uint64_t *log_bytes)
{
	CLEANUP(log_release) struct log log = { .read = read, .context = context };
	*log_bytes = 0;
	int ret = read_header(&log);
	if (ret == 0 && pages->size % log.page_bytes != 0)
		ret = NO_MORE_BYTES;
	if (ret != 0)
		return ret < 0 ? ret : 0;
	uint64_t known = pages->size / log.page_bytes;
	size_t step = FRAME_BYTES + log.page_bytes;
	while (ret == 0) {
		if (pages->size + (log.frames + 1) * step > limit_bytes)
			return -EFBIG;
		uint8_t *frame = buffer_extend(&log.pending, step);
		if (!frame)
			return -ENOMEM;
		ret = read_frame(&log, frame);
		uint32_t count = ret == 0 ? be32(frame + FRAME_PAGES) : 0;
		if (count) {
			ret = commit(&log, pages, count, known);
			*log_bytes = HEADER_BYTES + log.frames * step;
		}
	}
	return ret < 0 ? ret : check_header_again(&log);
}
