#include "store/stash_pack.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/hash.h"

#define PACK_MAGIC	     "CPSTASH2"
#define PACK_OLD_MAGIC	     "CPSTASH1" /* without the writer, named by XXH3 */
#define PACK_MAGIC_BYTES     8
/* Level 12, and tables as large as that takes them, compress by 1.5 % more, in three times the time
 * and with 50 MB (docs/decisions.md). */
#define PACK_ZSTD_LEVEL	     9
#define PACK_TABLE_LOG	     19
#define PACK_FOLDER_ID_BYTES 64 /* of a build-id; longer ones are named by their hash */

static size_t put_hex(char *out, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sprintf(out + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
	return 2 * size;
}

/* Whether build-id and hash, as far as they are there, are short enough to name the folder. */
static bool has_name(const struct profile_image *image)
{
	const struct span id = image->build_id, hash = image->hash;
	bool has_id = id.size && id.size <= PACK_FOLDER_ID_BYTES;
	bool has_hash = hash.size && hash.size <= PACK_FOLDER_ID_BYTES;
	return (has_id || has_hash) && (has_id || !id.size) && (has_hash || !hash.size);
}

void stash_folder_name_of(const struct profile_image *image, const struct hash128 *stable,
			  char name[STASH_FOLDER_NAME_BYTES])
{
	const struct span id = image->build_id, hash = image->hash;
	char *end = name;
	if (!has_name(image)) {
		name[0] = 'n';
		put_hex(name + 1, stable, sizeof(*stable));
		return;
	}
	end += id.size ? put_hex(end, id.data, id.size) : 0;
	end += id.size && hash.size ? sprintf(end, "-") : 0;
	end += hash.size ? put_hex(end, hash.data, hash.size) : 0;
	if (image->writer)
		sprintf(end, "-%llx", (unsigned long long)image->writer);
}

int stash_folder_name(const struct profile *profile, uint32_t image,
		      char name[STASH_FOLDER_NAME_BYTES])
{
	const struct profile_image found = profile_image(profile, image);
	if (has_name(&found)) {
		stash_folder_name_of(&found, NULL, name);
		return 0;
	}
	CLEANUP(free_pointer)
	struct hash128 *names =
		calloc(profile_table(profile, PROFILE_IMAGE)->count, sizeof(*names));
	if (!names || profile_stable_names(profile, PROFILE_IMAGE, names) < 0)
		return -ENOMEM;
	stash_folder_name_of(&found, &names[image - 1], name);
	return 0;
}

static void put_span(struct buffer *out, struct span bytes)
{
	/* Plus one, so that absent and empty differ. */
	buffer_append_varint(out, bytes.data ? bytes.size + 1 : 0);
	buffer_append(out, bytes.data, bytes.size);
}

struct order {
	const struct profile *profile;
	const struct table *stash;
};

static int compare_records(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const uint64_t *left = table_keys(order->stash, *(const uint32_t *)a);
	const uint64_t *right = table_keys(order->stash, *(const uint32_t *)b);
	for (int slot = STASH_KIND; slot < STASH_CONTENT; slot++)
		if (left[slot] != right[slot])
			return left[slot] < right[slot] ? -1 : 1;
	return span_compare(profile_bytes(order->profile, left[STASH_CONTENT]),
			    profile_bytes(order->profile, right[STASH_CONTENT]));
}

static int compress(const struct buffer *raw, struct buffer *out)
{
	if (buffer_failed(raw))
		return -ENOMEM;
	buffer_append_text(out, PACK_MAGIC);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(raw->size);
	uint8_t *room = buffer_extend(out, bound);
	size_t size = 0;
	if (context && room) {
		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, PACK_ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(context, ZSTD_c_hashLog, PACK_TABLE_LOG);
		ZSTD_CCtx_setParameter(context, ZSTD_c_chainLog, PACK_TABLE_LOG);
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
		size = ZSTD_compress2(context, room, bound, raw->data, raw->size);
	}
	ZSTD_freeCCtx(context);
	if (!context || !room || ZSTD_isError(size))
		return -ENOMEM;
	out->size -= bound - size;
	return 0;
}

int stash_pack_encode(const struct profile *profile, uint32_t image, const uint32_t *rows,
		      size_t count, struct buffer *out)
{
	struct order order = { profile, profile_table(profile, PROFILE_STASH) };
	CLEANUP(free_pointer) uint32_t *sorted = calloc(count + 1, sizeof(*sorted));
	CLEANUP(buffer_release) struct buffer raw = { 0 };
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, rows, count * sizeof(*rows));
	qsort_r(sorted, count, sizeof(*sorted), compare_records, &order);
	struct profile_image known = profile_image(profile, image);
	buffer_append_varint(&raw, known.kind);
	buffer_append_varint(&raw, known.space);
	put_span(&raw, known.build_id);
	put_span(&raw, known.hash);
	put_span(&raw, known.name);
	buffer_append_varint(&raw, known.writer);
	buffer_append_varint(&raw, count);
	for (size_t i = 0; i < count; i++) {
		const uint64_t *keys = table_keys(order.stash, sorted[i]);
		buffer_append_varint(&raw, keys[STASH_KIND]);
		buffer_append_varint(&raw, keys[STASH_FIRST]);
		buffer_append_varint(&raw, keys[STASH_LAST]);
		put_span(&raw, profile_bytes(profile, keys[STASH_CONTENT]));
	}
	return compress(&raw, out);
}

bool stash_pack_is_old(const void *bytes, size_t size)
{
	return size >= PACK_MAGIC_BYTES && memcmp(bytes, PACK_OLD_MAGIC, PACK_MAGIC_BYTES) == 0;
}

void stash_pack_name(const void *bytes, size_t size, char name[STASH_PACK_NAME_BYTES])
{
	uint8_t digest[(STASH_PACK_NAME_BYTES - 1) / 2];
	struct sha256_ctx hash;
	if (stash_pack_is_old(bytes, size)) {
		struct hash128 old = hash128_bytes(bytes, size);
		snprintf(name, STASH_PACK_NAME_BYTES, "%016llx%016llx",
			 (unsigned long long)old.high, (unsigned long long)old.low);
		return;
	}
	sha256_init(&hash);
	sha256_update(&hash, size, bytes);
	sha256_digest(&hash, sizeof(digest), digest);
	put_hex(name, digest, sizeof(digest));
}

static struct span read_span(struct cursor *in)
{
	uint64_t size = cursor_varint(in);
	if (size == 0)
		return (struct span){ NULL, 0 };
	const void *data = cursor_take(in, size - 1);
	return (struct span){ data, data ? size - 1 : 0 };
}

static int read_records(struct cursor *in, const char *name, bool old, stash_pack_accept wanted,
			void *context, struct profile *profile, struct error *err)
{
	struct profile_image image = { .kind = cursor_varint(in), .space = cursor_varint(in) };
	image.build_id = read_span(in);
	image.hash = read_span(in);
	image.name = read_span(in);
	image.writer = old ? 0 : cursor_varint(in);
	int verdict = !in->failed && wanted ? wanted(context, &image) : 0;
	if (verdict == -ENOMEM)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	if (verdict < 0)
		return error_set(err, -EXDEV,
				 "'%s' is of another image than the folder that it lies in", name);
	if (!in->failed && old && image.build_id.size && image.hash.size)
		return error_set(err, -EBADMSG,
				 "'%s' is damaged: versions that made such files knew no content",
				 name);
	uint64_t count = cursor_varint(in);
	uint32_t id = 0;
	in->failed = in->failed || count > STASH_PACK_MAX_RECORDS;
	if (!in->failed && verdict == 0 && profile_add_image(profile, &image, &id) < 0)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	for (uint64_t i = 0; !in->failed && i < count; i++) {
		uint64_t row[TABLE_MAX_COLUMNS] = { [STASH_IMAGE] = id };
		row[STASH_KIND] = cursor_varint(in);
		row[STASH_FIRST] = cursor_varint(in);
		row[STASH_LAST] = cursor_varint(in);
		struct span content = read_span(in);
		uint32_t bytes = 0;
		if (in->failed || verdict == STASH_PACK_SKIP)
			continue;
		int ret = profile_add_bytes(profile, content, &bytes);
		row[STASH_CONTENT] = bytes;
		if (ret == 0)
			ret = table_add(profile->tables[PROFILE_STASH], row, NULL, NULL);
		if (ret < 0)
			return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	}
	if (in->failed || cursor_left(in))
		return error_set(err, -EBADMSG, "'%s' is damaged: its records do not fit its bytes",
				 name);
	return 0;
}

int stash_pack_decode(const void *bytes, size_t size, const char *name, stash_pack_accept wanted,
		      void *context, struct profile *profile, struct error *err)
{
	const size_t magic = PACK_MAGIC_BYTES;
	bool old = stash_pack_is_old(bytes, size);
	if (!old && (size < magic || memcmp(bytes, PACK_MAGIC, magic) != 0))
		return error_set(err, -EBADMSG, "'%s' is no stash of code, or a damaged one", name);
	const uint8_t *frame = (const uint8_t *)bytes + magic;
	unsigned long long unpacked = ZSTD_getFrameContentSize(frame, size - magic);
	if (unpacked > STASH_PACK_MAX_BYTES) /* unknown and error are larger */
		return error_set(err, -EBADMSG, "'%s' is damaged: its size makes no sense", name);
	CLEANUP(free_pointer) uint8_t *raw = malloc(unpacked + 1);
	if (!raw)
		return error_set(err, -ENOMEM, "out of memory reading '%s'", name);
	size_t got = ZSTD_decompress(raw, unpacked, frame, size - magic);
	if (ZSTD_isError(got) || got != unpacked)
		return error_set(err, -EBADMSG, "'%s' is damaged: its compressed data is broken",
				 name);
	struct cursor in = cursor_of(raw, unpacked);
	return read_records(&in, name, old, wanted, context, profile, err);
}
