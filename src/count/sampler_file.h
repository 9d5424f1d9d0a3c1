/*
 * sampler_file - a perf.data file in pipe mode, whose records need no table behind them
 * (tools/perf/Documentation/perf.data-file-format.txt of Linux): header, events, the machine, and
 * what perf calls synthesised records. The kernel's own go through sampler_file_records() as they
 * are.
 *
 * Nothing fails here: the stream keeps the first failure (sampler_stream.h). After
 * sampler_file_machine() nothing is allocated.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "count/sampler_stream.h"

struct perf_event_attr;

/* The most that a record may have, in words. */
#define SAMPLER_FILE_RECORD_BYTES 65528

/* What trailers of records that are made here hold, as of the kernel's records: all events of a
 * sampler have these fields. */
#define SAMPLER_FILE_TRAILER                                                                       \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct sampler_file {
	struct sampler_stream stream;
	uint64_t id; /* of the event that made records are said to be of */
	pid_t pid;
	/* Of the record that is being made. */
	size_t size;
	uint8_t record[SAMPLER_FILE_RECORD_BYTES];
};

void sampler_file_begin(struct sampler_file *file);
void sampler_file_event(struct sampler_file *file, const struct perf_event_attr *attr,
			const uint64_t *ids, size_t id_count, const char *name);
/* Host, kernel, CPU, command line, and what time of day the events' clock begins at. */
void sampler_file_machine(struct sampler_file *file);

/* Records of the kernel. */
static inline void sampler_file_records(struct sampler_file *file, const void *bytes, size_t size)
{
	sampler_stream_put(&file->stream, bytes, size);
}
/* All records with times up to now have been written. */
void sampler_file_round(struct sampler_file *file);
/* So many samples of the event `id` are missing, of which the kernel has written no record. */
void sampler_file_lost(struct sampler_file *file, uint64_t id, uint64_t samples, uint64_t time_ns);

/* A record by its parts. What does not fit is cut; texts, and the record, are padded to 8 bytes. */
void sampler_file_open_record(struct sampler_file *file, uint32_t type, uint16_t misc);
void sampler_file_put(struct sampler_file *file, const void *bytes, size_t size);
void sampler_file_u32(struct sampler_file *file, uint32_t value);
void sampler_file_u64(struct sampler_file *file, uint64_t value);
void sampler_file_text(struct sampler_file *file, const char *text, size_t size);
/* As a kernel's record ends. */
void sampler_file_trailer(struct sampler_file *file, pid_t tid, uint64_t time_ns);
void sampler_file_close_record(struct sampler_file *file);
