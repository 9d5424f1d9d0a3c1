#include "count/sampler_file.h"

#include <string.h>
#include <linux/perf_event.h>

#define HEADER_BYTES sizeof(struct perf_event_header)

/* Records that perf itself writes (tools/lib/perf of Linux). */
#define HEADER_ATTR    64
#define FINISHED_ROUND 68
#define EVENT_UPDATE   78
#define UPDATE_NAME    2

void sampler_file_open_record(struct sampler_file *file, uint32_t type, uint16_t misc)
{
	const struct perf_event_header header = { .type = type, .misc = misc };
	file->size = 0;
	sampler_file_put(file, &header, sizeof(header));
}

void sampler_file_put(struct sampler_file *file, const void *bytes, size_t size)
{
	size_t room = sizeof(file->record) - file->size;
	if (size > room)
		size = room;
	memcpy(file->record + file->size, bytes, size);
	file->size += size;
}

void sampler_file_u32(struct sampler_file *file, uint32_t value)
{
	sampler_file_put(file, &value, sizeof(value));
}

void sampler_file_u64(struct sampler_file *file, uint64_t value)
{
	sampler_file_put(file, &value, sizeof(value));
}

void sampler_file_text(struct sampler_file *file, const char *text, size_t size)
{
	static const uint8_t zeros[8];
	sampler_file_put(file, text, size);
	sampler_file_put(file, zeros, 8 - size % 8); /* with a NUL at least */
}

/* In the order of perf_event_open(2), "sample_id". */
void sampler_file_trailer(struct sampler_file *file, pid_t tid, uint64_t time_ns)
{
	sampler_file_u32(file, (uint32_t)file->pid);
	sampler_file_u32(file, (uint32_t)tid);
	sampler_file_u64(file, time_ns);
	sampler_file_u64(file, 0); /* CPU */
	sampler_file_u64(file, file->id);
}

void sampler_file_close_record(struct sampler_file *file)
{
	static const uint8_t zeros[8];
	sampler_file_put(file, zeros, (8 - file->size % 8) % 8);
	uint16_t size = (uint16_t)file->size;
	memcpy(file->record + offsetof(struct perf_event_header, size), &size, sizeof(size));
	sampler_stream_put(&file->stream, file->record, file->size);
}

void sampler_file_begin(struct sampler_file *file)
{
	/* "PERFILE2", and the size of this header, by which readers know a pipe. */
	const uint64_t header[2] = { UINT64_C(0x32454c4946524550), sizeof(header) };
	sampler_stream_put(&file->stream, header, sizeof(header));
}

void sampler_file_event(struct sampler_file *file, const struct perf_event_attr *attr,
			const uint64_t *ids, size_t id_count, const char *name)
{
	sampler_file_open_record(file, HEADER_ATTR, 0);
	sampler_file_put(file, attr, attr->size);
	sampler_file_put(file, ids, id_count * sizeof(*ids));
	sampler_file_close_record(file);

	sampler_file_open_record(file, EVENT_UPDATE, 0);
	sampler_file_u64(file, UPDATE_NAME);
	sampler_file_u64(file, ids[0]);
	sampler_file_text(file, name, strlen(name));
	sampler_file_close_record(file);
}

void sampler_file_round(struct sampler_file *file)
{
	sampler_file_open_record(file, FINISHED_ROUND, 0);
	sampler_file_close_record(file);
}

void sampler_file_lost(struct sampler_file *file, uint64_t id, uint64_t samples, uint64_t time_ns)
{
	sampler_file_open_record(file, PERF_RECORD_LOST, 0);
	sampler_file_u64(file, id);
	sampler_file_u64(file, samples);
	sampler_file_trailer(file, file->pid, time_ns);
	sampler_file_close_record(file);
}
