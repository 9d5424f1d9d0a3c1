/*
 * plan - what will be opened, decided before anything is: which CPUs, which
 * events with which periods, and whether CPUs or tasks are watched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/options.h"
#include "collect/counters.h"
#include "machine/cpu_set.h"
#include "machine/probe.h"

struct error;
struct sample_memory;

struct plan {
	struct perf_features features;
	struct cpu_set cpus;
	struct sampler *samplers; /* malloc'ed */
	size_t sampler_count;
	struct counters_options counters; /* without features and cpus */
	bool inherit;			  /* the kernel follows tasks; else CPUs are watched */
	bool edges;			  /* some sampler's samples are interpreted */
	/* Of the time that samples stand for, what interpreting them may take: a part of the
	   budget that chose the rate, or all of it beside a rate that was asked for. */
	double edge_ratio;
	bool follow; /* of what runs on the CPUs, only the command's tree counts */
};

/*
 * 0 or a negative errno with the sentence. Says what it decided through options->note. Opens
 * *memory, which is closed, if samples are to come with what they point to: it is the caller's
 * to close, whatever is returned, after all that the plan led to.
 */
int plan_make(struct plan *plan, const struct collect_options *options,
	      struct sample_memory *memory, struct error *err);
void plan_release(struct plan *plan); /* also right for a zeroed one */
