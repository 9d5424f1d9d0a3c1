/*
 * sampled_file - a perf.data file that a sampler of this thread writes, and what is in it. After
 * cmocka.h.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/perf_event.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "culprit/sampler.h"
#include "machine/perf_record.h"
#include "support/skip.h"
#include "support/temporary_folder.h"

#define PERIOD_NS     250000
#define PATIENCE_S    60
#define HEADER_BYTES  16
#define HEADER_ATTR   64
#define BUILD_ID      67
#define ROUND	      68
#define EVENT_UPDATE  78
#define MAPPINGS_MOST 512

static volatile uint64_t sink;

static inline double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline void spin(void)
{
	for (double since = cpu_s(); cpu_s() - since < 0.02;)
		for (unsigned i = 0; i < 10000; i++)
			sink = sink * 3 + i;
}

/* ---- reading it */

struct made_mapping {
	uint64_t start, end, time;
	char path[256];
};

struct file_content {
	struct buffer bytes;
	struct perf_layout layout;
	size_t attrs, updates, builds, rounds, samples, comms;
	char name[64]; /* of the first event */
	char thread_name[32];
	uint64_t lost, first_ns, last_ns; /* of samples */
	struct made_mapping mappings[MAPPINGS_MOST];
	size_t mapping_count;
};

static inline void take_attr(struct file_content *content, const uint8_t *record)
{
	struct perf_event_attr attr;
	memcpy(&attr, record + 8, sizeof(attr));
	if (!content->attrs++)
		content->layout = (struct perf_layout){ .sample_type = attr.sample_type,
							.read_format = attr.read_format,
							.sample_id_all = attr.sample_id_all };
	assert_int_equal(attr.sample_type, content->layout.sample_type);
	assert_true(attr.use_clockid && attr.clockid == CLOCK_MONOTONIC);
}

static inline void take_mapping(struct file_content *content, const struct perf_record *record)
{
	const struct perf_mapping *mapping = &record->mapping;
	struct made_mapping *made = &content->mappings[content->mapping_count];
	assert_true(content->mapping_count++ < MAPPINGS_MOST);
	made->start = mapping->start;
	made->end = mapping->start + mapping->size_bytes;
	made->time = record->identity.time;
	snprintf(made->path, sizeof(made->path), "%.*s", (int)mapping->path.size,
		 (const char *)mapping->path.data);
}

static inline void take_record(struct file_content *content, const uint8_t *bytes, size_t size)
{
	struct perf_record record;
	assert_int_equal(perf_record_decode(bytes, size, &content->layout, &record), size);
	switch (record.type) {
	case PERF_RECORD_SAMPLE:
		content->first_ns = content->samples ? content->first_ns : record.identity.time;
		content->last_ns = record.identity.time;
		content->samples++;
		break;
	case PERF_RECORD_MMAP2:
		take_mapping(content, &record);
		break;
	case PERF_RECORD_COMM:
		content->comms++;
		snprintf(content->thread_name, sizeof(content->thread_name), "%.*s",
			 (int)record.comm.name.size, (const char *)record.comm.name.data);
		break;
	case PERF_RECORD_LOST:
		content->lost += record.lost.lost;
		break;
	default:
		break;
	}
}

static inline void read_content(struct file_content *content, const char *path)
{
	*content = (struct file_content){ .attrs = 0 };
	assert_int_equal(small_file_read(path, 64u << 20, &content->bytes), 0);
	const uint8_t *bytes = content->bytes.data;
	size_t at = HEADER_BYTES;
	assert_true(content->bytes.size > at);
	assert_memory_equal(bytes, "PERFILE2\x10\0\0\0\0\0\0", HEADER_BYTES);
	while (at < content->bytes.size) {
		struct perf_event_header header;
		size_t size = perf_record_size(bytes + at, content->bytes.size - at);
		assert_int_equal(size % 8, 0);
		assert_true(size > 0);
		memcpy(&header, bytes + at, sizeof(header));
		if (header.type < HEADER_ATTR)
			take_record(content, bytes + at, size);
		else if (header.type == HEADER_ATTR)
			take_attr(content, bytes + at);
		else if (header.type == EVENT_UPDATE && !content->updates++)
			snprintf(content->name, sizeof(content->name), "%s", bytes + at + 24);
		content->builds += header.type == BUILD_ID;
		content->rounds += header.type == ROUND;
		at += size;
	}
	buffer_release(&content->bytes);
}

static inline const struct made_mapping *mapping_at(const struct file_content *content,
						    const void *address)
{
	for (size_t i = content->mapping_count; i > 0; i--) {
		const struct made_mapping *mapping = &content->mappings[i - 1];
		if ((uintptr_t)address >= mapping->start && (uintptr_t)address < mapping->end)
			return mapping;
	}
	return NULL;
}

static inline const struct made_mapping *mapping_of(const struct file_content *content,
						    const char *name)
{
	for (size_t i = 0; i < content->mapping_count; i++)
		if (strstr(content->mappings[i].path, name))
			return &content->mappings[i];
	return NULL;
}

/* ---- writing it */

static inline struct culprit_sampler *opened(struct culprit_sampler_options options)
{
	struct culprit_sampler *sampler = NULL;
	struct culprit_error error;
	options.period = PERIOD_NS;
	int ret = culprit_sampler_open("cpu-clock:u", &options, &sampler, &error);
	if (ret == -ENOSYS ||
	    (ret < 0 && strstr(error.text, "permission denied (kernel.perf_event")))
		SKIP("perf events may not be used here: %s", error.text);
	if (ret)
		fail_msg("%s", error.text);
	return sampler;
}

static inline void sample_once(struct culprit_sampler *sampler)
{
	struct culprit_sampler_counts counts;
	double since = cpu_s();
	assert_int_equal(culprit_sampler_start(sampler), 0);
	do {
		spin();
		assert_int_equal(culprit_sampler_drain(sampler), 0);
		culprit_sampler_counts(sampler, &counts);
	} while (!counts.samples && cpu_s() - since < PATIENCE_S);
	assert_int_equal(culprit_sampler_stop(sampler), 0);
	assert_true(counts.samples > 0);
}
