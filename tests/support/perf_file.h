/*
 * perf_file - perf.data files for tests, record by record, in either byte order.
 * A file is begun, gets its events, then its records, then features, and is ended;
 * a pipe likewise. Texts and numbers that are not given are 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>

#include "base/buffer.h"
#include "base/span.h"

struct perf_file {
	struct buffer bytes;
	bool big_endian, pipe;
	size_t record;		     /* offset of the record that is being written */
	size_t data;		     /* offset of the first record */
	struct perf_event_attr attr; /* of the last event: what samples hold */
	uint64_t features;
	struct buffer feature_table, feature_bytes;
	size_t attr_count, attrs, attr_size;
	struct buffer ids;
};

void perf_file_release(struct perf_file *file);

/* `attr_bytes` is the width of attributes in the file. */
void perf_file_begin(struct perf_file *file, const struct perf_event_attr *attrs,
		     const uint64_t *ids, size_t count, size_t attr_bytes);
void perf_file_begin_pipe(struct perf_file *file);
/* Fills in the header and all lengths. */
void perf_file_end(struct perf_file *file);

/* Numbers in the file's byte order. */
void perf_put_u16(struct perf_file *file, uint16_t value);
void perf_put_u32(struct perf_file *file, uint32_t value);
void perf_put_u64(struct perf_file *file, uint64_t value);
void perf_put_text(struct perf_file *file, const char *text); /* padded to 8 bytes */

void perf_record_begin(struct perf_file *file, uint32_t type, uint16_t misc);
void perf_record_end(struct perf_file *file);

/* Whole records; all with a trailer of TID and TIME (and ID where `id` is not 0). */
void perf_put_comm(struct perf_file *file, uint32_t pid, uint32_t tid, const char *name, bool exec,
		   uint64_t time, uint64_t id);
void perf_put_mmap(struct perf_file *file, uint32_t pid, uint64_t start, uint64_t size,
		   uint64_t offset, const char *path, uint64_t time, uint64_t id);
struct perf_file_inode {
	uint32_t major, minor;
	uint64_t inode, generation;
};
/* An MMAP2 record, r-x and private. */
void perf_put_mmap2(struct perf_file *file, uint32_t pid, uint64_t start, uint64_t size,
		    const struct perf_file_inode *inode, const char *path, uint64_t time);
void perf_put_trailer(struct perf_file *file, uint32_t pid, uint32_t tid, uint64_t time,
		      uint64_t id);
/* FINISHED_ROUND and others that are a header alone. */
void perf_put_empty(struct perf_file *file, uint32_t type);

/* Features, which stand at the end of a file: that perf's clock, CLOCK_MONOTONIC, was at `at_ns`
 * when the time of day was `wall_ns`; */
void perf_add_feature_clock(struct perf_file *file, unsigned feature, uint64_t wall_ns,
			    uint64_t at_ns);
/* and a text. */
void perf_add_feature_text(struct perf_file *file, unsigned feature, const char *text);
