/*
 * sampler_private - the inside of struct culprit_sampler, for the sampler's own files.
 *
 * On each lane (any CPU; with options->threads one for each CPU, since the kernel gives inherited
 * events no other ring) a dummy event reports mappings, names and threads all the time. It owns the
 * ring and leads the group of a sampled event of the hardware, so that both are of one context, as
 * kernels before 6.2 want it of events that share a ring; a clock is of its context anyway. Between
 * start and stop the sampled events are enabled; nothing else is switched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#include "count/own_process.h"
#include "count/sampler_maps.h"
#include "culprit/sampler.h"
#include "machine/cpu.h"
#include "machine/event.h"
#include "machine/perf_record.h"
#include "machine/perf_ring.h"
#include "machine/pmu.h"

struct count_kernel;
struct count_world;
struct error;
struct sampler_file;

#define SAMPLER_NAME 128

struct sampler_lane {
	int cpu;		/* -1: any */
	int dummy;		/* -1: not open */
	int fds[CPU_MAX_TYPES]; /* of the sampled events; -1: not on this CPU */
	uint64_t dummy_id, ids[CPU_MAX_TYPES];
	struct perf_ring ring;
};

struct culprit_sampler {
	const struct count_kernel *kernel;
	struct own_process own; /* in a child nothing is done */
	struct pmu_list pmus;
	struct event_list list;
	struct perf_event_attr dummy, attrs[CPU_MAX_TYPES]; /* as opened */
	size_t event_count;				    /* one for each type of cores */
	struct sampler_lane *lanes;
	size_t lane_count;
	struct perf_layout layout; /* of all events */
	char name[SAMPLER_NAME];
	bool running;
	bool inherits_processes; /* the kernel cannot keep children's samples out: they are dropped
				  */
	bool reads_lost;	 /* the kernel counts lost samples for each event (Linux 6.0) */

	culprit_sample_function function;
	void *context;
	uint64_t *calls;		      /* room for one call chain; NULL: none is handed on */
	uint8_t *room;			      /* SAMPLER_RECORD_MOST bytes */
	struct culprit_sampler_counts counts; /* `lost`: as the kernel's records have it */
	uint64_t dropped; /* of `lost`, by the PMU itself: LOST_SAMPLES records */
	int damage;	  /* -EBADMSG since a record could not be read; else 0 */

	struct sampler_file *file; /* NULL: none */
	const char *path;	   /* in messages; owned; NULL: a descriptor */
	bool news;		   /* records since the last round */
	bool saw_mapping;	   /* among them one of a mapping */
	struct sampler_loads loads;
	uint64_t looked_ns; /* when `loads` was read */
};

/* sampler_open.c: opens all events as `options` say, and maps their rings. 0 or a negative errno
 * value; what was opened is closed by sampler_close_events(). */
int sampler_open_events(struct culprit_sampler *sampler,
			const struct culprit_sampler_options *options, struct error *err);
void sampler_close_events(struct culprit_sampler *sampler);

/* sampler_take.c: empties the rings. 0 or the first failure, of a ring or of the file. */
int sampler_take(struct culprit_sampler *sampler);
/* Samples that were lost, as far as the kernel says by now. */
uint64_t sampler_lost(const struct culprit_sampler *sampler);
/* Writes what the dynamic linker has loaded since the last look, in this thread or another. */
void sampler_look_at_loads(struct culprit_sampler *sampler);

/* culprit_sampler_open() in another world than the real one: for tests. */
int sampler_open(const struct count_world *world, const char *event,
		 const struct culprit_sampler_options *options, struct culprit_sampler **sampler,
		 struct culprit_error *error);
