/*
 * made_up_recording - a collector over made-up events (support/made_up_events.h) of CPU 0 alone, on
 * a small made-up kernel: what happened is written into their rings, what came of it is added up
 * in one profile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/collector.h"
#include "machine/event.h"
#include "profile/profile.h"
#include "support/made_up_events.h"
#include "support/made_up_files.h"
#include "support/perf_file.h"

/* The kernel's symbols: "do_work" from 256 bytes behind its start, "module_work" at the start of
 * the module "loaded", and a BPF program "bpf_prog_known". */
#define MADE_UP_KERNEL	UINT64_C(0xffffffff81000000)
#define MADE_UP_MODULE	UINT64_C(0xffffffffa0100000)
#define MADE_UP_PROGRAM UINT64_C(0xffffffffa0200000)

struct recording {
	struct event_list events;
	struct collect_options options;
	struct collector *collector;
	struct profile *got;  /* all that was handed out */
	struct perf_file put; /* records that are not written yet */
	char notes[8192];     /* a sentence a line */
	enum collect_wish wish;
	struct error err;
};

/* Events of every machine, of user code, at a rate that was asked for: so that nothing is measured,
 * which takes a while. */
void recording_begin(struct recording *recording, enum collect_target target, const char *events);
/* Makes the collector. A scan of all of /proc, which takes as long as the machine is large, is cut
 * short. */
int recording_open(struct recording *recording);
/* The same, and starts it. Both must go well. */
void recording_start(struct recording *recording);
void recording_end(struct recording *recording);

/* The event of that name, or the one that tells of processes when it is NULL. */
struct made_up_event *recording_event(const struct recording *recording, const char *name);

/* Each writes one record at the moment, or `before_ns` earlier where that is asked. */
void recording_comm(struct recording *recording, uint32_t pid, uint32_t tid, const char *name,
		    bool exec);
void recording_fork(struct recording *recording, uint32_t pid, uint32_t tid, uint32_t parent);
void recording_exit(struct recording *recording, uint32_t pid, uint32_t tid);
void recording_map(struct recording *recording, uint32_t pid, uint64_t start, uint64_t size,
		   const char *path);
struct made_up_sample {
	uint32_t pid, tid;
	uint64_t ip;
	uint16_t misc;	       /* PERF_RECORD_MISC_USER and the like */
	const uint64_t *chain; /* with stacks */
	uint64_t depth;
	const uint64_t *branches; /* three words each, where the CPU keeps calls */
	uint64_t branch_count;
	uint64_t before_ns;
	/* By perf's numbers of them, where samples are interpreted; NULL: user code had none. */
	const uint64_t *registers;
};
void recording_sample(struct recording *recording, const char *event,
		      const struct made_up_sample *sample);
/* What was put so far goes into the ring. */
void recording_write(struct recording *recording, struct made_up_event *event);

/* Adds what the collector hands out. */
void recording_drain(struct recording *recording);
void recording_end_epoch(struct recording *recording);
void recording_finish(struct recording *recording);

/* Samples and estimate of all cells of the event: of contexts of that name (NULL: all) in images
 * of that name or path (NULL: all). */
struct cell recording_cells(const struct recording *recording, const char *event, const char *comm,
			    const char *image);
/* -1: the bill has no such line. `event` NULL: of no event; all CPUs together. */
int64_t recording_billed(const struct recording *recording, const char *event, const char *item);
/* The kinds of records (symbol/record.h) that the stash has of the function of that name, as bits;
 * 0: it has none. */
unsigned recording_stashed(const struct recording *recording, const char *name);
/* Of the program that runs: where its own code is. */
const char *recording_own_path(void);
