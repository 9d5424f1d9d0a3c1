/*
 * plan - what will be opened, decided before anything is: which CPUs, which
 * events with which periods, and whether CPUs or tasks are watched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/options.h"
#include "collect/counters.h"
#include "collect/overhead.h"
#include "machine/cpu_set.h"
#include "machine/probe.h"

struct error;
struct sample_memory;
struct user_stack;

struct plan {
	struct perf_features features;
	struct cpu_set cpus;
	struct sampler *samplers; /* malloc'ed */
	size_t sampler_count;
	struct counters_options counters; /* without features and cpus */
	enum collect_engine engine;	  /* RING; or BPF, of which USUAL may yet be refused */
	bool inherit;			  /* the kernel follows tasks; else CPUs are watched */
	bool edges;			  /* some sampler's samples are interpreted */
	/* The CPU time that interpreting samples may take, as a part of the time that they stand
	   for: a part of the budget when that chose the rate, else (a given rate) all of it. */
	double edge_ratio;
	struct overhead overhead; /* what its budget is and a sample costs; not begun */
	uint64_t turn_ns;	  /* how long turns last on average; 0: no event takes turns */
	bool follow; /* CPUs are watched, and only samples of the command's tree count */
};

/*
 * Fills *plan, which the caller has zeroed, and reports what it decided through options->note.
 * Opens *memory, which must be closed before, when samples are to come with what their registers
 * point to, and *walker, which must be NULL, when stacks are walked in the kernel; the caller closes
 * both, whatever is returned, after all events are closed. 0 or a
 * negative errno with *err.
 */
int plan_make(struct plan *plan, const struct collect_options *options,
	      struct sample_memory *memory, struct user_stack **walker, struct error *err);
void plan_release(struct plan *plan); /* also right for a zeroed one */
