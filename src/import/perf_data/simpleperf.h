/*
 * simpleperf - what Android's simpleperf adds to a perf.data file: features 128
 * (FILE) and 132 (FILE2) with the names of the sampled functions, 129 (META_INFO)
 * with texts by key, and records of type 32769 and above (the device's kallsyms,
 * files and symbols of old versions, ids of events; call chains, which are left out).
 *
 * It keeps copies of the parts that matter and reads names from them once the profile
 * is there. The bytes are a stranger's. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct error;
struct profile;

enum simpleperf_feature {
	SIMPLEPERF_FILE = 128,
	SIMPLEPERF_META_INFO = 129,
	SIMPLEPERF_FILE2 = 132,
};

enum simpleperf_record {
	SIMPLEPERF_RECORDS = 32768, /* all above are its own */
	SIMPLEPERF_KERNEL_SYMBOL,
	SIMPLEPERF_DSO,
	SIMPLEPERF_SYMBOL,
	SIMPLEPERF_SPLIT,
	SIMPLEPERF_SPLIT_END,
	SIMPLEPERF_EVENT_ID,
	SIMPLEPERF_CALLCHAIN,
	SIMPLEPERF_UNWINDING_RESULT,
	SIMPLEPERF_TRACING_DATA,
	SIMPLEPERF_RECORDS_END = SIMPLEPERF_RECORDS + 64, /* of those it may yet define */
};

/*
 * In the protection of an MMAP2 record: this is code that a compiler made at run time, and the
 * symbols of its file (in the recording) are by address. The mapping's start then is its offset.
 */
#define SIMPLEPERF_JIT_MAP 0x4000u

struct simpleperf {
	struct buffer files, files2; /* payloads of the features */
	struct buffer meta;
	struct buffer kallsyms;
	struct buffer records; /* DSO and SYMBOL, each behind its size */
	size_t bad;	       /* parts that made no sense */
};

void simpleperf_release(struct simpleperf *simpleperf); /* also right for a zeroed one */

/* The size of a record of type above SIMPLEPERF_RECORDS by its 8 bytes of header, in which the
 * size's upper half takes the place of `misc`. 0: impossible. */
size_t simpleperf_record_size(const void *header);

/* A feature's payload; others than its own do nothing. 0 or -ENOMEM. */
int simpleperf_take_feature(struct simpleperf *simpleperf, unsigned feature, struct span payload);
/* A whole record, of any type above SIMPLEPERF_RECORDS. 0 or -ENOMEM. */
int simpleperf_take_record(struct simpleperf *simpleperf, struct span record);

/* The text of a key of META_INFO, or empty: "kernel_version", "product_props", ... */
struct span simpleperf_meta(const struct simpleperf *simpleperf, const char *key);

/* The events of "event_type_info", in its order up to a line that makes no sense: how many there
 * are, at most `room`. */
struct simpleperf_event {
	struct span name;
	uint64_t type, config;
};
size_t simpleperf_events(const struct simpleperf *simpleperf, struct simpleperf_event *events,
			 size_t room);

/* One id of an EVENT_ID record: event `attribute` of the file has `id`. False past the last. */
struct simpleperf_id {
	uint64_t attribute, id;
};
bool simpleperf_event_id(struct span record, size_t index, struct simpleperf_id *id);

/* Calls `take` with the path of each file of Dalvik code, whose frames have the addresses of calls,
 * not those that these return to. */
void simpleperf_each_dex(struct simpleperf *simpleperf,
			 void (*take)(void *context, struct span path), void *context);

/* Where things lie that simpleperf's tables leave open. */
struct simpleperf_bases {
	uint64_t kernel; /* where the kernel's addresses count from */
	/* By id of the profile's images: the offset in the file of the first executable mapping,
	 * which holds the file's lowest executable vaddr. NULL: all 0. simpleperf itself took it
	 * to be that in the versions whose tables have no such offset. */
	const uint64_t *text_offsets;
};

/*
 * Adds to the stash of `profile` the names of its images' functions that were sampled. Images of
 * files and "[vdso]" are found by path; the kernel is the image of kind IMAGE_KERNEL. *names counts
 * the functions. 0 or -ENOMEM.
 */
int simpleperf_name_images(struct simpleperf *simpleperf, struct profile *profile,
			   const struct simpleperf_bases *bases, size_t *names);
