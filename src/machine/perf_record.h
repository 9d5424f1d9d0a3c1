/*
 * perf_record - the records that the kernel writes to a perf ring, and perf to
 * its files, decoded from bytes. Nothing in them is trusted: a record that is
 * shorter than what it promises is refused whole.
 *
 * What a decoded record points to (texts, call chains) lies in the bytes, which
 * must outlive it. There is no state; threads may decode at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/perf_event.h>

#include "base/span.h"

/* How the events of one ring were opened: what their records hold depends on it. */
struct perf_layout {
	uint64_t sample_type;
	uint64_t read_format;
	uint64_t branch_sample_type;
	uint64_t regs_user, regs_interrupt; /* masks */
	bool sample_id_all;
	/* Of an event without attr.build_id. Where another event of the same mapping has it, the
	   kernel (6.18) leaves PERF_RECORD_MISC_MMAP_BUILD_ID set in the records of both. */
	bool never_build_id;
};

/* Numbers in records need not be aligned. */
struct perf_words {
	const uint8_t *bytes;
	uint64_t count;
};

static inline uint64_t perf_word(const struct perf_words *words, uint64_t index)
{
	uint64_t value;
	memcpy(&value, words->bytes + index * sizeof(value), sizeof(value));
	return value;
}

/* Who and when: from the sample itself, or the trailer of other records. Fields that the layout
 * lacks are 0. */
struct perf_identity {
	uint32_t pid, tid; /* 0xffffffff: already reaped */
	uint64_t time;
	uint64_t id;
	uint64_t stream_id;
	uint32_t cpu;
};

/* A PERF_SAMPLE_READ block or a PERF_RECORD_READ's values. */
struct perf_read {
	uint64_t count; /* values; 0: the layout has none */
	uint64_t time_enabled, time_running;
	struct perf_words words; /* `stride` words a value */
	unsigned stride;
	int id_at, lost_at; /* word within a value, -1 when the format lacks it */
};

static inline uint64_t perf_read_value(const struct perf_read *read, uint64_t index)
{
	return perf_word(&read->words, index * read->stride);
}
static inline uint64_t perf_read_id(const struct perf_read *read, uint64_t index)
{
	return read->id_at < 0 ? 0 : perf_word(&read->words, index * read->stride + read->id_at);
}
static inline uint64_t perf_read_lost(const struct perf_read *read, uint64_t index)
{
	return read->lost_at < 0 ? 0
				 : perf_word(&read->words, index * read->stride + read->lost_at);
}

struct perf_sample {
	uint64_t ip;
	uint64_t address;
	uint64_t period;
	struct perf_read read;
	struct perf_words chain; /* innermost first, PERF_CONTEXT_* marks among them */
	struct span raw;
	struct perf_words branches; /* three words each: from, to, flags */
	struct perf_words user_registers, interrupt_registers;
	uint64_t user_abi, interrupt_abi;
	struct span user_stack;
	uint64_t weight, data_source, transaction, physical_address, cgroup, data_page_bytes,
		code_page_bytes;
};

#define PERF_BUILD_ID_BYTES 20

struct perf_mapping {
	uint32_t pid, tid;
	uint64_t start, size_bytes, offset;
	bool has_inode; /* else the kernel sent a build-id in its place, or this is a plain MMAP */
	uint32_t major, minor;
	uint64_t inode, generation;
	struct span build_id; /* empty: none */
	bool has_protection;  /* MMAP2, but for that of RHEL 7 */
	uint32_t protection, flags;
	struct span path;
};

struct perf_task { /* FORK and EXIT */
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

struct perf_record {
	uint32_t
		type; /* PERF_RECORD_*; of a type that is not listed below only `identity` counts */
	uint16_t misc;
	struct perf_identity identity;
	union {
		struct perf_sample sample;
		struct perf_mapping mapping; /* MMAP, MMAP2 */
		struct {
			uint32_t pid, tid;
			struct span name;
			bool exec;
		} comm;
		struct perf_task task;
		struct {
			uint64_t id;
			uint64_t lost;
		} lost; /* LOST, LOST_SAMPLES (id 0) */
		struct {
			uint64_t time, id, stream_id;
		} throttle; /* THROTTLE, UNTHROTTLE */
		struct {
			uint32_t pid, tid;
			struct perf_read read;
		} read;
		struct {
			uint64_t address;
			uint32_t size_bytes;
			uint16_t kind, flags;
			struct span name;
		} symbol; /* KSYMBOL */
		struct {
			uint16_t kind, flags;
			uint32_t id;
			struct span tag;
		} bpf; /* BPF_EVENT */
		struct {
			uint64_t id;
			struct span path;
		} cgroup;
		struct {
			uint64_t address;
			struct span old_bytes, new_bytes;
		} poke; /* TEXT_POKE */
	};
};

/*
 * Decodes the record at `bytes`, of which `size_bytes` are there. Returns its
 * size, or -EBADMSG (a size that is impossible, contents that pass its end).
 */
int perf_record_decode(const void *bytes, size_t size_bytes, const struct perf_layout *layout,
		       struct perf_record *record);

/*
 * Whether an MMAP2's path begins at `bytes`, behind the inode's generation, where Linux
 * has protection and flags: the first ones, of 3.12 and so RHEL 7's 3.10, lack these.
 * In either byte order a protection begins with a byte that no text does.
 */
bool perf_mmap2_path_begins(const void *bytes, size_t size_bytes);

/* The size in the header, or 0 when the bytes cannot hold such a record: splits a stream. */
size_t perf_record_size(const void *bytes, size_t size_bytes);
