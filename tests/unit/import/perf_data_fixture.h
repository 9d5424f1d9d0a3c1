/*
 * perf_data_fixture - for the tests of perf.data: a file of one event and one
 * process of two images, the kernel and /bin/worker, and what came of reading it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "support/imported.h"
#include "support/perf_file.h"

#define USUAL_TYPE                                                                                 \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |                \
	 PERF_SAMPLE_CALLCHAIN)
#define WITH_ID (USUAL_TYPE | PERF_SAMPLE_ID)
#define KERNEL	0xffffffff81000000
#define TEXT	0x400000

/* The usual event, of USUAL_TYPE and a period of 1000. */
extern const struct perf_event_attr cycles;

/* What came of a file: stacks, or the error; and what was said. */
struct outcome {
	int ret;
	struct error err;
	struct profile *profile;
	struct buffer said, stacks;
};

void outcome_release(struct outcome *outcome); /* for CLEANUP() */
/* Fills an empty *outcome. */
void read_file(const struct perf_file *file, size_t piece, bool force, struct outcome *outcome);
/* The test ends unless reading says just that and makes these stacks, or fails so. */
void must_be(const struct perf_file *file, const char *stacks, const char *said);
void must_fail(const struct perf_file *file, int ret, const char *message);

struct sample {
	uint64_t ip, time, id, period;
	uint32_t pid, tid; /* tid 0: the pid */
	uint16_t mode;
	const uint64_t *chain;
	size_t depth;
};

/* A SAMPLE record; of `type` only ID, PERIOD and CALLCHAIN are looked at, the rest is there. */
void put_sample(struct perf_file *file, uint64_t type, const struct sample *sample);
/* Begins one of user code at TEXT + offset in a thread of process 7, of IP, TID and TIME; what else
 * it has and its end are the caller's. */
void begin_user_sample(struct perf_file *file, uint32_t tid, uint64_t time, uint64_t offset);
/* A sample of user code in process 7 at TEXT + offset, called from TEXT + 0x100. */
void put_user_sample(struct perf_file *file, uint64_t time, uint64_t offset);
/* The kernel, and process 7, "worker", with /bin/worker at TEXT. */
void put_process(struct perf_file *file);
/* A file of one event, without an id, that has put_process(). */
void begin_file_of(struct perf_file *file, const struct perf_event_attr *event);
/* Of the usual event. */
void begin_usual(struct perf_file *file);

/* The line of such samples, whose leaf is at `leaf` of the file: TEXT lies at 0x1000 there. */
#define USER_STACK(leaf, samples, weight)                                                          \
	"cycles [worker] /bin/worker!0x1100|/bin/worker!" leaf " " samples " " weight "\n"
