#include "import/perf_data/perf_data_unwind.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "import/perf_data/perf_data_private.h"
#include "import/unwind/unwind.h"

#define CHUNK_BYTES (1u << 20)
/* Beside each of these, once more as many bytes as the file had so far: what is unwound before its
 * end knows no build-ids, and so no binaries. */
#define ROOM	      (24u << 20) /* packed samples */
#define MAPPINGS_MAX  (1u << 20)  /* of all processes as they were: 32 MB */
#define FILES_SHOWN   3
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

struct perf_stacks {
	ZSTD_CStream *packer;
	struct chunk **chunks;
	size_t chunk_count, chunk_capacity;
	struct process *processes; /* as they were, each with a share of both its mappings */
	size_t process_count, process_capacity;
	size_t mapping_count;
	uint64_t samples;

	struct unwinder *unwinder; /* NULL: none was needed, or none can be made */
	bool refused;
	struct unwind_run run;
	bool unwound; /* `run` is of the sample that is handed on */
};

static void forget(struct perf_stacks *waiting)
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

void perf_stacks_free(struct perf_stacks *waiting)
{
	if (!waiting)
		return;
	forget(waiting);
	ZSTD_freeCStream(waiting->packer);
	unwinder_free(waiting->unwinder);
	free(waiting->chunks);
	free(waiting->processes);
	free(waiting);
}

static struct perf_stacks *need_waiting(struct perf_data *data)
{
	if (!data->waiting) {
		data->waiting = calloc(1, sizeof(*data->waiting));
		if (data->waiting)
			data->waiting->packer = ZSTD_createCStream();
	}
	return data->waiting && data->waiting->packer ? data->waiting : NULL;
}

/* ---- keeping */

/* Where the packer may write. NULL: out of memory. */
static struct chunk *need_chunk(struct perf_stacks *waiting)
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

static int pack(struct perf_stacks *waiting, const void *bytes, size_t size, ZSTD_EndDirective end)
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

/* Keeps a share. Returns how many mappings it has. */
static size_t keep_space(struct address_space *space)
{
	return space ? address_space_share(space)->count : 0;
}

/* The process as it is now; it is the last one that was kept, more often than not. */
static int keep_process(struct perf_stacks *waiting, const struct process *process,
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

static bool is_full(const struct perf_data *data, const struct perf_stacks *waiting)
{
	return waiting->chunk_count * (uint64_t)CHUNK_BYTES > ROOM + data->at ||
	       waiting->mapping_count > MAPPINGS_MAX + data->at / sizeof(struct mapping) ||
	       waiting->process_count > MAPPINGS_MAX / 4;
}

int perf_data_wait(struct perf_data *data, uint32_t event, uint32_t context,
		   const struct process *process, const uint8_t *record, size_t size,
		   struct error *err)
{
	struct perf_stacks *waiting = need_waiting(data);
	struct waiting_header header = { event, context, 0, (uint32_t)size };
	if (!waiting)
		return error_set(err, -ENOMEM, "out of memory");
	if (!waiting->samples)
		ZSTD_CCtx_setParameter(waiting->packer, ZSTD_c_compressionLevel, PACKING_LEVEL);
	int ret = keep_process(waiting, process, &header.process);
	if (ret == 0)
		ret = pack(waiting, &header, sizeof(header), ZSTD_e_continue);
	if (ret == 0)
		ret = pack(waiting, record, size, ZSTD_e_continue);
	if (ret < 0)
		return error_set(err, -ENOMEM, "out of memory");
	waiting->samples++;
	return is_full(data, waiting) ? perf_data_unwind(data, err) : 0;
}

/* ---- unwinding */

/* The build that the table names for that path; user code's rows only. */
static struct span build_of(const struct perf_places *places, const struct perf_image *image)
{
	if (image->build_id_bytes)
		return (struct span){ image->build_id, image->build_id_bytes };
	for (size_t i = 0; i < places->build_count; i++) {
		const struct perf_build *build = &places->builds[i];
		if (build->mode != CODE_KERNEL && strcmp(build->path, image->name) == 0)
			return (struct span){ build->build_id, build->build_id_bytes };
	}
	return (struct span){ NULL, 0 };
}

static void name_file(void *context, uint32_t file, struct unwind_file *named)
{
	const struct perf_data *data = context;
	const struct perf_image *image = &data->places.images[file - 1];
	if (image->runtime || image->kind == IMAGE_UNKNOWN)
		return;
	named->path = span_of_text(image->name);
	named->build_id = build_of(&data->places, image);
	named->here = perf_here_inode(data, file);
}

/* A file that was known by its inode alone has a build-id to be known by. */
static void found_file(void *context, uint32_t file, const struct identity *identity)
{
	struct perf_data *data = context;
	struct perf_image *image = &data->places.images[file - 1];
	if (build_of(&data->places, image).size || identity->build_id_bytes > PERF_BUILD_ID_ROOM)
		return;
	memcpy(image->build_id, identity->build_id, identity->build_id_bytes);
	image->build_id_bytes = (uint8_t)identity->build_id_bytes;
}

/* The machine by the file's own word, or by the registers that were asked for. */
static uint16_t machine_of(const struct perf_data *data, uint64_t mask)
{
	struct span name = byte_pool_get(&data->names, data->machine.arch);
	if (name.size)
		return unwind_machine(name);
	if (mask == 0xffff)
		return EM_ARM;
	return mask >> 32 ? EM_AARCH64 : EM_X86_64;
}

static int need_unwinder(struct perf_data *data, struct perf_stacks *waiting)
{
	struct error err;
	const struct unwind_options options = { .symfs = data->options->symfs,
						.perf_cache = data->options->perf_cache,
						.name_file = name_file,
						.found_file = found_file,
						.context = data };
	if (waiting->unwinder || waiting->refused)
		return 0;
	int ret = unwinder_new(&options, &waiting->unwinder, &err);
	if (ret == -ENOMEM)
		return ret;
	waiting->refused = ret < 0;
	if (ret < 0)
		import_tell(data->options, IMPORT_WARNING, "user stacks are not unwound: %s",
			    err.text);
	return 0;
}

static int unwind_sample(struct perf_data *data, struct perf_stacks *waiting,
			 const struct process *process, const struct perf_file_event *event,
			 const struct perf_record *record)
{
	const struct perf_sample *sample = &record->sample;
	waiting->unwound = false;
	if (!sample->user_abi)
		return 0;
	if (need_unwinder(data, waiting) < 0)
		return -ENOMEM;
	if (!waiting->unwinder)
		return 0;
	const struct unwind_sample wanted = {
		.machine = machine_of(data, event->layout.regs_user),
		.abi = sample->user_abi,
		.mask = event->layout.regs_user,
		.registers = sample->user_registers,
		.stack = sample->user_stack,
		.space = process->space,
	};
	int ret = unwinder_run(waiting->unwinder, &wanted, &waiting->run);
	waiting->unwound = ret == 0 && waiting->run.count > 0;
	return ret;
}

static int hand_on(struct perf_data *data, const struct waiting_header *header,
		   const uint8_t *bytes, struct error *err)
{
	struct perf_stacks *waiting = data->waiting;
	const struct perf_file_event *event = &data->events.list[header->event];
	struct process *process = &waiting->processes[header->process];
	struct perf_record record;
	if (perf_record_decode(bytes, header->size, &event->layout, &record) < 0)
		return error_set(err, -EPROTO, "a sample that was kept is another now");
	if (unwind_sample(data, waiting, process, event, &record) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = perf_data_add(data, process, header->event, header->context, &record, err);
	waiting->unwound = false;
	return ret;
}

/* Hands on the whole records in `bytes`, and leaves the rest there. */
static int hand_on_whole(struct perf_data *data, struct buffer *bytes, struct error *err)
{
	size_t at = 0;
	int ret = 0;
	while (ret == 0 && bytes->size - at >= sizeof(struct waiting_header)) {
		struct waiting_header header;
		memcpy(&header, bytes->data + at, sizeof(header));
		if (bytes->size - at - sizeof(header) < header.size)
			break;
		ret = hand_on(data, &header, bytes->data + at + sizeof(header), err);
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

static int unpack_chunk(struct perf_data *data, ZSTD_DStream *unpacker, const struct chunk *chunk,
			struct buffer *bytes, struct error *err)
{
	ZSTD_inBuffer in = { chunk->bytes, chunk->size, 0 };
	int ret = 0;
	bool more = true;
	while (ret == 0 && (in.pos < in.size || more)) {
		uint8_t *room = buffer_extend(bytes, CHUNK_BYTES);
		if (!room)
			return error_set(err, -ENOMEM, "out of memory");
		ZSTD_outBuffer out = { room, CHUNK_BYTES, 0 };
		size_t left = ZSTD_decompressStream(unpacker, &out, &in);
		bytes->size -= CHUNK_BYTES - out.pos;
		if (ZSTD_isError(left))
			return error_set(err, -ENOMEM, "out of memory");
		more = out.pos == CHUNK_BYTES;
		ret = hand_on_whole(data, bytes, err);
	}
	return ret;
}

int perf_data_unwind(struct perf_data *data, struct error *err)
{
	struct perf_stacks *waiting = data->waiting;
	if (!waiting || !waiting->samples)
		return 0;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(free_unpacker) ZSTD_DStream *unpacker = ZSTD_createDStream();
	if (!unpacker || pack(waiting, NULL, 0, ZSTD_e_end) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	int ret = 0;
	for (size_t i = 0; i < waiting->chunk_count && ret == 0; i++)
		ret = unpack_chunk(data, unpacker, waiting->chunks[i], &bytes, err);
	forget(waiting);
	return ret;
}

const struct unwind_run *perf_data_unwound(const struct perf_data *data)
{
	return data->waiting && data->waiting->unwound ? &data->waiting->run : NULL;
}

/* ---- what is to be said */

static int put_missing(const struct perf_data *data, struct buffer *text)
{
	struct unwind_missing *missing;
	size_t count;
	if (unwinder_missing(data->waiting->unwinder, &missing, &count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count && i < FILES_SHOWN; i++)
		buffer_printf(text, "%s'%s' (%" PRIu64 ")", i ? ", " : " ",
			      data->places.images[missing[i].file - 1].name, missing[i].samples);
	if (count > FILES_SHOWN)
		buffer_printf(text, " and %zu more", count - FILES_SHOWN);
	bool unsaid =
		count && !build_of(&data->places, &data->places.images[missing[0].file - 1]).size;
	buffer_append_text(text, unsaid ? "; the recording does not say of which build, so only "
					  "below --symfs its name would be enough"
					: "; --symfs names a folder to look in");
	free(missing);
	return 0;
}

void perf_data_tell_unwound(const struct perf_data *data)
{
	if (!data->waiting || !data->waiting->unwinder)
		return;
	const struct unwinder *unwinder = data->waiting->unwinder;
	for (enum unwind_end end = UNWIND_WHOLE + 1; end < UNWIND_FILE_NEEDED; end++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		uint64_t count = unwinder_count(unwinder, end);
		if (!count)
			continue;
		if (end == UNWIND_NO_BINARY)
			put_missing(data, &text);
		import_tell(data->options, IMPORT_NOTE,
			    "%" PRIu64 " user stacks are not unwound to their root: %s%s%s", count,
			    unwind_end_text(end), text.size ? ":" : "", buffer_text(&text));
	}
}
