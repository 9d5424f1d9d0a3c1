/* store/write_ahead_log.h: 512 bytes of pages a unit of the first byte's low bits, then a log,
 * whose sums its high bit puts right, as a forger would. */
#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "store/write_ahead_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT (UINT64_C(1) << 22)

struct bytes {
	const uint8_t *data;
	size_t size;
};

static long read_bytes(void *context, void *out, size_t size, uint64_t offset)
{
	const struct bytes *bytes = context;
	if (offset >= bytes->size)
		return 0;
	size_t left = bytes->size - (size_t)offset;
	memcpy(out, bytes->data + offset, left < size ? left : size);
	return (long)(left < size ? left : size);
}

static uint32_t get_be32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_be32(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void add_sums(uint32_t sums[2], const uint8_t *at, size_t size, bool big_endian)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint32_t words[2];
		memcpy(words, at + i, 8);
		if (big_endian) {
			words[0] = get_be32(at + i);
			words[1] = get_be32(at + i + 4);
		}
		sums[0] += words[0] + sums[1];
		sums[1] += words[1] + sums[0];
	}
}

static void put_sums_right(uint8_t *log, size_t size)
{
	uint32_t sums[2] = { 0 };
	if (size < 32)
		return;
	bool big_endian = log[3] & 1;
	uint32_t page_bytes = get_be32(log + 8);
	add_sums(sums, log, 24, big_endian);
	put_be32(log + 24, sums[0]);
	put_be32(log + 28, sums[1]);
	if (page_bytes < 512 || page_bytes > 65536)
		return;
	for (size_t at = 32; size - at >= 24 + (size_t)page_bytes; at += 24 + page_bytes) {
		memcpy(log + at + 8, log + 16, 8);
		add_sums(sums, log + at, 8, big_endian);
		add_sums(sums, log + at + 24, page_bytes, big_endian);
		put_be32(log + at + 16, sums[0]);
		put_be32(log + at + 20, sums[1]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buffer_release) struct buffer pages = { 0 };
	CLEANUP(buffer_release) struct buffer log = { 0 };
	uint64_t log_bytes;
	if (size == 0)
		return 0;
	size_t before = (size_t)(data[0] & 0x7f) * 512;
	before = before < size - 1 ? before : size - 1;
	buffer_append(&pages, data + 1, before);
	buffer_append(&log, data + 1 + before, size - 1 - before);
	if (data[0] & 0x80)
		put_sums_right(log.data, log.size);
	struct bytes bytes = { log.data, log.size };
	if (write_ahead_log_apply(read_bytes, &bytes, &pages, LIMIT, &log_bytes) == 0)
		assert(log_bytes <= log.size && pages.size <= before + log.size);
	return 0;
}
