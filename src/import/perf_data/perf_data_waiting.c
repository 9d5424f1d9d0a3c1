#include "import/perf_data/perf_data_waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/process_table.h"

#define CHUNK_BYTES (1u << 20)
/* Limits of memory, besides the bytes of the file so far. They are generous: what is unwound before
 * the file's end knows no build-ids, and so no binaries. */
#define ROOM	      (24u << 20) /* packed samples */
#define MAPPINGS_MAX  (1u << 20)  /* of all processes as they were: 32 MB */
#define PACKING_LEVEL 1

struct chunk {
	size_t size;
	uint8_t bytes[CHUNK_BYTES];
};

/* What stands before each record. */
struct waiting_header {
	uint32_t event, context;
	uint32_t process; /* position in `processes` */
	uint32_t size;
};

struct perf_waiting {
	ZSTD_CStream *packer;
	struct chunk **chunks;
	size_t chunk_count, chunk_capacity;
	struct process *processes; /* as they were, each with a share of both its mappings */
	size_t process_count, process_capacity;
	size_t mapping_count;
	uint64_t samples;
};

static void forget(struct perf_waiting *waiting)
{
	for (size_t i = 0; i < waiting->chunk_count; i++)
		free(waiting->chunks[i]);
	for (size_t i = 0; i < waiting->process_count; i++) {
		address_space_drop(waiting->processes[i].space);
		address_space_drop(waiting->processes[i].former);
	}
	waiting->chunk_count = waiting->process_count = waiting->mapping_count = 0;
	waiting->samples = 0;
}

void perf_waiting_free(struct perf_waiting *waiting)
{
	if (!waiting)
		return;
	forget(waiting);
	ZSTD_freeCStream(waiting->packer);
	free(waiting->chunks);
	free(waiting->processes);
	free(waiting);
}

struct perf_waiting *perf_waiting_new(void)
{
	struct perf_waiting *waiting = calloc(1, sizeof(*waiting));
	if (!waiting)
		return NULL;
	waiting->packer = ZSTD_createCStream();
	if (waiting->packer)
		return waiting;
	perf_waiting_free(waiting);
	return NULL;
}

/* ---- keeping */

/* Where the packer may write. NULL: out of memory. */
static struct chunk *need_chunk(struct perf_waiting *waiting)
{
	struct chunk *last =
		waiting->chunk_count ? waiting->chunks[waiting->chunk_count - 1] : NULL;
	if (last && last->size < CHUNK_BYTES)
		return last;
	if (array_reserve(&waiting->chunks, &waiting->chunk_capacity, waiting->chunk_count,
			  sizeof(*waiting->chunks)) < 0)
		return NULL;
	last = malloc(sizeof(*last));
	if (!last)
		return NULL;
	last->size = 0;
	return waiting->chunks[waiting->chunk_count++] = last;
}

static int pack(struct perf_waiting *waiting, const void *bytes, size_t size, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { bytes, size, 0 };
	for (;;) {
		struct chunk *chunk = need_chunk(waiting);
		if (!chunk)
			return -ENOMEM;
		ZSTD_outBuffer out = { chunk->bytes, CHUNK_BYTES, chunk->size };
		size_t left = ZSTD_compressStream2(waiting->packer, &out, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM;
		chunk->size = out.pos;
		if (in.pos == in.size && (end == ZSTD_e_continue || left == 0))
			return 0;
	}
}

/* Takes a share of the mappings, and returns how many there are. */
static size_t keep_space(struct address_space *space)
{
	return space ? address_space_share(space)->count : 0;
}

/* Keeps the process as it is now; more often than not it is the last one that was kept. */
static int keep_process(struct perf_waiting *waiting, const struct process *process,
			uint32_t *position)
{
	const struct process *last =
		waiting->process_count ? &waiting->processes[waiting->process_count - 1] : NULL;
	if (last && last->pid == process->pid && last->start_ns == process->start_ns &&
	    last->space == process->space && last->serial == process->serial) {
		*position = (uint32_t)waiting->process_count - 1;
		return 0;
	}
	if (array_reserve(&waiting->processes, &waiting->process_capacity, waiting->process_count,
			  sizeof(*process)) < 0)
		return -ENOMEM;
	struct process *kept = &waiting->processes[waiting->process_count];
	*kept = *process;
	waiting->mapping_count += keep_space(kept->space) + keep_space(kept->former);
	*position = (uint32_t)waiting->process_count++;
	return 0;
}

int perf_waiting_add(struct perf_waiting *waiting, const struct perf_waiting_sample *sample)
{
	struct waiting_header header = { sample->event, sample->context, 0,
					 (uint32_t)sample->record.size };
	if (!waiting->samples)
		ZSTD_CCtx_setParameter(waiting->packer, ZSTD_c_compressionLevel, PACKING_LEVEL);
	int ret = keep_process(waiting, sample->process, &header.process);
	if (ret == 0)
		ret = pack(waiting, &header, sizeof(header), ZSTD_e_continue);
	if (ret == 0)
		ret = pack(waiting, sample->record.data, sample->record.size, ZSTD_e_continue);
	if (ret == 0)
		waiting->samples++;
	return ret;
}

bool perf_waiting_is_full(const struct perf_waiting *waiting, uint64_t file_bytes)
{
	return waiting->chunk_count * (uint64_t)CHUNK_BYTES > ROOM + file_bytes ||
	       waiting->mapping_count > MAPPINGS_MAX + file_bytes / sizeof(struct mapping) ||
	       waiting->process_count > MAPPINGS_MAX / 4;
}

/* ---- handing on */

/* Where the samples go. */
struct drain {
	struct perf_waiting *waiting;
	perf_waiting_take take;
	void *context;
	struct error *err;
};

/* Hands on the samples that are whole in `bytes`, and leaves the rest there. */
static int hand_on_whole(const struct drain *drain, struct buffer *bytes)
{
	size_t at = 0;
	int ret = 0;
	while (ret == 0 && bytes->size - at >= sizeof(struct waiting_header)) {
		struct waiting_header header;
		memcpy(&header, bytes->data + at, sizeof(header));
		if (bytes->size - at - sizeof(header) < header.size)
			break;
		const struct perf_waiting_sample sample = {
			header.event,
			header.context,
			&drain->waiting->processes[header.process],
			{ bytes->data + at + sizeof(header), header.size },
		};
		ret = drain->take(drain->context, &sample, drain->err);
		at += sizeof(header) + header.size;
	}
	if (at)
		memmove(bytes->data, bytes->data + at, bytes->size - at);
	bytes->size -= at;
	return ret;
}

static void free_unpacker(ZSTD_DStream **unpacker)
{
	ZSTD_freeDStream(*unpacker);
}

static int unpack_chunk(const struct drain *drain, ZSTD_DStream *unpacker,
			const struct chunk *chunk, struct buffer *bytes)
{
	ZSTD_inBuffer in = { chunk->bytes, chunk->size, 0 };
	int ret = 0;
	bool more = true;
	while (ret == 0 && (in.pos < in.size || more)) {
		uint8_t *room = buffer_extend(bytes, CHUNK_BYTES);
		if (!room)
			return error_set(drain->err, -ENOMEM, "out of memory");
		ZSTD_outBuffer out = { room, CHUNK_BYTES, 0 };
		size_t left = ZSTD_decompressStream(unpacker, &out, &in);
		bytes->size -= CHUNK_BYTES - out.pos;
		if (ZSTD_isError(left))
			return error_set(drain->err, -ENOMEM, "out of memory");
		more = out.pos == CHUNK_BYTES;
		ret = hand_on_whole(drain, bytes);
	}
	return ret;
}

int perf_waiting_drain(struct perf_waiting *waiting, perf_waiting_take take, void *context,
		       struct error *err)
{
	const struct drain drain = { waiting, take, context, err };
	if (!waiting->samples)
		return 0;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(free_unpacker) ZSTD_DStream *unpacker = ZSTD_createDStream();
	if (!unpacker || pack(waiting, NULL, 0, ZSTD_e_end) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = 0;
	for (size_t i = 0; i < waiting->chunk_count && ret == 0; i++)
		ret = unpack_chunk(&drain, unpacker, waiting->chunks[i], &bytes);
	forget(waiting);
	return ret;
}
