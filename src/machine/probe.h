/*
 * probe - what the kernel lets this process do, found out by trying. Each
 * function opens its own descriptors and closes them all. Nothing is changed
 * and nobody else's counters are touched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/cpu.h"

struct event_list;
struct perf_event_attr;

/* FACT_UNKNOWN: refused for a reason that says nothing about the feature (no permission). */
struct perf_features {
	enum fact format_lost;	    /* PERF_FORMAT_LOST (Linux 6.0) */
	enum fact inherit_read_tid; /* inherit + PERF_SAMPLE_READ + PERF_SAMPLE_TID (Linux 6.12) */
	enum fact build_id;	    /* attr.build_id in mmap2 records (Linux 5.12) */
	enum fact ksymbol;	    /* attr.ksymbol (Linux 5.1) */
	enum fact text_poke;	    /* attr.text_poke (Linux 5.8) */
	enum fact branch_stack;	    /* taken branches (LBR, BRBE) with samples of cycles */
};
void perf_features_probe(struct perf_features *features);

/*
 * Whether the kernel opens this attr for the calling thread on any CPU; with
 * cpu >= 0 for every process on that CPU. 0 or the negative errno value.
 */
int probe_open(const struct perf_event_attr *attr, int cpu);
/* How many branches this machine's PMU of that name keeps (its caps/branches); 0: not known. */
unsigned probe_branch_depth(const char *pmu);

/*
 * Whether the group that begins at `leader` opens for the calling thread and, where that can be
 * found out, counts: the kernel checks it against all counters, not against those that are free.
 * Takes 0.2 ms. 0, -EBUSY when it does not count, or the negative errno value of opening.
 */
int probe_group(const struct event_list *list, size_t leader);
