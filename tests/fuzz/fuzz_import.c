#include <assert.h>
#include <lzma.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "import/reading/import.h"
#include "profile/profile.h"

/* The smallest windows: what packing costs is not what is tested. */
#define GZIP_WINDOW   (9 + 16)
#define PACKED_MOST   (256u << 10)
#define PACKING_BYTES (4u << 20) /* what the encoder takes, several times */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum how { AS_IT_IS, GZIP, XZ, GZIP_TWICE };

static size_t gzip(struct span plain, uint8_t *out)
{
	z_stream stream = { .next_in = (uint8_t *)plain.data,
			    .avail_in = (uInt)plain.size,
			    .next_out = out,
			    .avail_out = PACKED_MOST };
	if (deflateInit2(&stream, 1, Z_DEFLATED, GZIP_WINDOW, 1, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	return stream.total_out;
}

/* What is packed here lies in one piece that is there already: a sanitizer takes most of its time
 * to make memory for each input, and watches it for nothing but liblzma's encoder. */
struct packing_memory {
	size_t used;
	_Alignas(64) uint8_t bytes[PACKING_BYTES];
};

static void *packing_memory_take(void *opaque, size_t count, size_t size)
{
	struct packing_memory *memory = opaque;
	size_t wanted = (count * size + 63) & ~(size_t)63;
	if (wanted > PACKING_BYTES - memory->used)
		abort();
	memory->used += wanted;
	return memory->bytes + memory->used - wanted;
}

static void packing_memory_leave(void *opaque, void *taken)
{
	(void)opaque;
	(void)taken;
}

static size_t xz(struct span plain, uint8_t *out)
{
	static struct packing_memory memory;
	const lzma_allocator allocator = { packing_memory_take, packing_memory_leave, &memory };
	memory.used = 0;
	size_t size = 0;
	lzma_options_lzma options;
	if (lzma_lzma_preset(&options, 0))
		abort();
	options.dict_size = LZMA_DICT_SIZE_MIN;
	lzma_filter filters[] = { { .id = LZMA_FILTER_LZMA2, .options = &options },
				  { .id = LZMA_VLI_UNKNOWN } };
	return lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, &allocator, plain.data,
					 plain.size, out, &size, PACKED_MOST) == LZMA_OK
		       ? size
		       : 0;
}

static struct span packed(enum how how, struct span plain)
{
	static uint8_t first[PACKED_MOST], second[PACKED_MOST];
	if (how == AS_IT_IS || plain.size > PACKED_MOST / 2)
		return plain;
	if (how == XZ)
		return (struct span){ first, xz(plain, first) };
	struct span once = { first, gzip(plain, first) };
	if (how == GZIP)
		return once;
	return (struct span){ second, gzip(once, second) };
}

/*
 * A whole file as it comes from the system, packed in some way or not, with a
 * damaged byte or not: its first bytes are looked at, then the rest is read.
 * The first byte says how, the second how many bytes are looked at.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int rest = -1;
	if (size < 3)
		return 0;
	if (rest < 0)
		rest = memfd_create("rest", MFD_CLOEXEC);
	struct span file = packed(data[0] >> 1 & 3, (struct span){ data + 2, size - 2 });
	CLEANUP(free_pointer) uint8_t *copy = malloc(file.size + 1);
	assert(rest >= 0 && copy);
	if (file.size)
		memcpy(copy, file.data, file.size);
	if (data[0] >> 3 & 3 && file.size)
		copy[(data[0] * 37u + data[1]) % file.size] ^= (uint8_t)(1u << (data[0] >> 5));
	size_t looked = data[1] % 64 == 63 ? file.size : (size_t)data[1] % 64;
	looked = looked < file.size ? looked : file.size;
	CLEANUP(buffer_release) struct buffer head = { 0 };
	buffer_append(&head, copy, looked);
	assert(ftruncate(rest, 0) == 0 &&
	       pwrite(rest, copy + looked, file.size - looked, 0) ==
		       (ssize_t)(file.size - looked) &&
	       lseek(rest, 0, SEEK_SET) == 0);
	import_recognise(copy, file.size);
	const struct import_options options = { .force = data[0] & 1 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	int ret = import_read(rest, &head, NULL, &options, &profile, &err);
	assert(ret == 0 ? profile != NULL : err.text[0] && !strchr(err.text, '\n'));
	return 0;
}
